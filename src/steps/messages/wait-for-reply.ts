import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'
import { fillChoices } from './message.ts'
import { Expectation, parseReply, REPLY_OUTPUT, toReplyValue } from './parse-reply.ts'

/** Waits for the next reply of the expected kind; other messages are left to other runs and to triggers. */
export const waitForReply = defineStep({
  type: 'wait_for_reply',
  awaits: 'reply',
  needsContact: true,
  schema: z
    .strictObject({ expect: Expectation.default({ type: 'any' }) })
    .refine(({ expect }) => expect.type !== 'choice' || expect.options, {
      message: 'is required for a choice',
      path: ['expect', 'options'],
    })
    .meta({
      if: { required: ['expect'], properties: { expect: { properties: { type: { const: 'choice' } } } } },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { properties: { expect: { required: ['options'] } } },
    }),
  literal: ['expect.pattern'],
  output: () => REPLY_OUTPUT,
  waits: () => true,
  restoreOutput: (_config, output) => ({ saved: toReplyValue(output) }),
  execute: () => ({ kind: 'suspend', for: 'reply', until: null }),
  resume({ expect }, context, wakeup) {
    if (wakeup.type !== 'reply') return { kind: 'ignore' }
    const answer = parseReply(wakeup.message, expect, { choices: fillChoices(expect.options ?? [], context), context })
    if (!answer) return { kind: 'ignore' }
    const { value, text, choice } = answer
    const output = { value, text, choice: choice?.id ?? null, messageId: wakeup.message.id }
    return {
      kind: 'next',
      output,
      saved: value,
      ...(choice ? { branch: choice.id } : {}),
      ...(choice?.next ? { to: choice.next } : {}),
    }
  },
})
