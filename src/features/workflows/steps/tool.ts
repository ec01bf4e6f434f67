import { z } from 'zod'
import { defineStep } from '../../../engine/step.ts'

/** Calls a tool of the workspace, and goes on with what it gives. */
export const tool = defineStep({
  type: 'tool',
  schema: z.strictObject({
    tool: z.string().min(1, 'must name a tool').max(64),
    input: z.record(z.string(), z.unknown()).default({}),
  }),
  literal: ['tool'],
  execute(config, turn) {
    const input = turn.resolve(config.input)
    const called = { tool: config.tool, input }
    return { kind: 'external', request: { type: 'tool', ...called }, input: called }
  },
})
