import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'

/** As tools are named; which of them are there is checked where they are called. */
export const toolName = z.string().regex(/^[a-z][a-z0-9_.]{0,63}$/, 'must be the name of a tool, such as contact.get')

/** Calls a tool of the workspace, and goes on with what it gives. */
export const tool = defineStep({
  type: 'tool',
  schema: z.strictObject({
    tool: toolName,
    input: z.record(z.string(), z.unknown()).default({}),
  }),
  execute(config, turn) {
    const input = turn.resolve(config.input)
    const called = { tool: config.tool, input }
    return { kind: 'external', request: { type: 'tool', ...called }, input: called }
  },
})
