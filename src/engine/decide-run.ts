import { decide, type DecideInput } from './decide.ts'
import type { Decision } from './decision.ts'
import { RunFault } from './run-fault.ts'

/** @throws RunFault whatever is wrong, so that whoever has to do without the run knows which it is */
export function decideRun(input: DecideInput): Decision {
  try {
    return decide(input)
  } catch (error) {
    throw new RunFault(input.run.id, error)
  }
}
