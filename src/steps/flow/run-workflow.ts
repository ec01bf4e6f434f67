import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'

/** Starts another workflow for the same contact; with `wait` it continues with the output of that run. */
export const runWorkflow = defineStep({
  type: 'run_workflow',
  awaits: 'result',
  schema: z.strictObject({
    workflowId: z.uuid('must be the id of a workflow').toLowerCase(),
    input: z.record(z.string(), z.unknown()).optional(),
    wait: z.boolean().default(true),
  }),
  literal: ['workflowId'],
  output: ({ wait }) => (wait ? { runId: null, output: null } : { runId: null }),
  execute({ workflowId, input, wait }, context) {
    const resolved = context.resolve(input ?? {})
    return {
      kind: 'start_run',
      input: { workflowId, input: resolved },
      start: { workflowId, input: resolved, isAwaited: wait },
    }
  },
})
