import { z } from 'zod'
import { templateText } from '../../engine/language/definition/names.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { defineStep } from '../../engine/model/step.ts'
import { getField } from '../../platform/fields.ts'
import { jsonSchemaError } from '../../platform/json-schema.ts'
import { composeMessage } from '../messages/compose-message.ts'
import { toolName } from './tool.ts'

const AI_OUTPUT = {
  text: null,
  json: null,
  toolCalls: null,
  turns: null,
  usage: { promptTokens: null, completionTokens: null },
}
export type AiOutput = Record<keyof typeof AI_OUTPUT, unknown>

const HISTORY_DEFAULT = 20
const TURNS_DEFAULT = 5

const outputSchema = z.record(z.string(), z.unknown()).superRefine((schema, issues) => {
  const error = schema['type'] === 'object' ? jsonSchemaError(schema) : 'its type must be object'
  if (error) issues.addIssue({ code: 'custom', message: `is not a supported JSON Schema: ${error}` })
})

/** Asks a language model, which may call tools of the workspace. With `reply` its text is sent to the customer. */
export const ai = defineStep({
  type: 'ai',
  awaits: 'result',
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
      message: 'cannot be combined with output: send a field of the output with send_message instead',
      path: ['reply'],
    }),
  literal: ['model'],
  output: () => AI_OUTPUT,
  execute(config, context) {
    const { model = null, tools, history = HISTORY_DEFAULT, maxTurns = TURNS_DEFAULT, output = null } = config
    const request = { instructions: context.text(config.instructions), model, tools, history, maxTurns, output }
    return { kind: 'external', request: { type: 'ai', ...request }, input: request }
  },
  resume({ reply }, context, wakeup) {
    if (wakeup.type !== 'external_result') return { kind: 'ignore' }
    if (!wakeup.result.ok) return { kind: 'fail', error: wakeup.result.error }
    const { output } = wakeup.result
    if (!reply) return { kind: 'next', output }
    // The text of a model is data: braces in it are no placeholders.
    const { input: _, ...message } = composeMessage(
      { ...context, text: (reply) => reply },
      { body: replyText(output) },
      [],
    )
    return { ...message, kind: 'next', output }
  },
})

function replyText(output: unknown): string {
  const text = getField(output, 'text')
  if (typeof text === 'string') return text
  throw new StepError('empty_message', 'The model returned no text to send', { retryable: false })
}
