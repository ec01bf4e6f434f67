import { z } from 'zod'
import { templateText } from '../../engine/language/definition/names.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { defineStep } from '../../engine/model/step.ts'
import { getField } from '../../platform/get-field.ts'
import { jsonSchemaError } from '../../platform/json-schema.ts'
import { composeMessage } from '../messages/compose-message.ts'
import { toolName } from './tool.ts'

const HISTORY_DEFAULT = 20
const TURNS_DEFAULT = 5

const outputSchema = z.record(z.string(), z.unknown()).superRefine((schema, issues) => {
  const refusal = schema['type'] === 'object' ? jsonSchemaError(schema) : 'its type has to be object'
  if (refusal) issues.addIssue({ code: 'custom', message: `is not a JSON Schema that can be used: ${refusal}` })
})

/**
 * Lets a language model answer, which may call tools of the workspace meanwhile. With `reply` its words are sent to the
 * customer.
 */
export const ai = defineStep({
  type: 'ai',
  schema: z
    .strictObject({
      instructions: templateText,
      model: z.string().min(1, 'must not be empty').max(200).optional(),
      tools: z
        .array(toolName)
        .max(32)
        .refine((names) => new Set(names).size === names.length, 'must not name a tool twice')
        .default([]),
      history: z.int('must be a whole number').min(0, 'must be 0 or more').max(100, 'must be at most 100').optional(),
      maxTurns: z.int('must be a whole number').min(1, 'must be 1 or more').max(25, 'must be at most 25').optional(),
      output: outputSchema.optional(),
      reply: z.boolean().default(false),
    })
    .refine(({ output, reply }) => !output || !reply, {
      message: 'sends what the model writes: with output leave it out, and send a field of it with send_message',
      path: ['reply'],
    }),
  literal: ['model'],
  execute(config, turn) {
    const { model = null, tools, history = HISTORY_DEFAULT, maxTurns = TURNS_DEFAULT, output = null } = config
    const asked = { instructions: turn.text(config.instructions), model, tools, history, maxTurns, output }
    return { kind: 'external', request: { type: 'ai', ...asked }, input: asked }
  },
  resume({ reply }, turn, wakeup) {
    if (wakeup.type !== 'external_result') return { kind: 'ignore' }
    if (!wakeup.result.ok) return { kind: 'fail', error: wakeup.result.error }
    const { output } = wakeup.result
    if (!reply) return { kind: 'next', output }
    // What a model says is data: braces in it are no placeholders.
    const { input: _, ...sent } = composeMessage({ ...turn, text: (said) => said }, { body: textOf(output) }, [])
    return { ...sent, kind: 'next', output }
  },
})

function textOf(output: unknown): string {
  const text = getField(output, 'text')
  if (typeof text === 'string') return text
  throw new StepError('empty_message', 'The model gave no text to send', { retryable: false })
}
