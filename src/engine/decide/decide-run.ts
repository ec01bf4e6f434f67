import { decide, type DecideInput } from './decide.ts'
import type { Decision } from '../model/decision.ts'
import { CorruptRunError } from '../model/corrupt-run-error.ts'

/** @throws RunFault whatever is wrong, so that whoever has to do without the run knows which it is */
export function decideRun(input: DecideInput): Decision {
  try {
    return decide(input)
  } catch (error) {
    throw new CorruptRunError(input.run.id, error)
  }
}
