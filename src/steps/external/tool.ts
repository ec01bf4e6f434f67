import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'

/** Name of a tool. Its existence is checked when it is called. */
export const toolName = z.string().regex(/^[a-z][a-z0-9_.]{0,63}$/, 'must be the name of a tool, such as contact.get')

/** Calls a tool of the workspace and continues with its output. */
export const tool = defineStep({
  type: 'tool',
  awaits: 'result',
  schema: z.strictObject({
    tool: toolName,
    input: z.record(z.string(), z.unknown()).default({}),
  }),
  execute(config, context) {
    const input = context.resolve(config.input)
    const call = { tool: config.tool, input }
    return { kind: 'external', request: { type: 'tool', ...call }, input: call }
  },
})
