import { CorruptRunError } from '../model/corrupt-run-error.ts'
import type { Decision } from '../model/decision.ts'
import { decide, type DecideInput } from './decide.ts'

/** @throws CorruptRunError for every error, so that the caller knows which run of which workflow caused it */
export function decideRun({ workflowId, ...input }: DecideInput & { workflowId: string }): Decision {
  try {
    return decide(input)
  } catch (error) {
    throw new CorruptRunError(input.run, workflowId, error)
  }
}
