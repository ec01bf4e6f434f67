import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'

/** Starts another workflow for the same contact, and with `wait` goes on when that run is over, with what it gave. */
export const runWorkflow = defineStep({
  type: 'run_workflow',
  schema: z.strictObject({
    workflowId: z.uuid('must be the id of a workflow').toLowerCase(),
    input: z.record(z.string(), z.unknown()).optional(),
    wait: z.boolean().default(true),
  }),
  literal: ['workflowId'],
  execute({ workflowId, input, wait }, turn) {
    const given = turn.resolve(input ?? {})
    return {
      kind: 'external',
      input: { workflowId, input: given },
      request: { type: 'run_workflow', workflowId, input: given, wait },
    }
  },
})
