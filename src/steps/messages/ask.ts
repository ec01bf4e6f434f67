import { z } from 'zod'
import { target } from '../../engine/language/definition/names.ts'
import { defineStep, type StepOutcome, type StepContext } from '../../engine/model/step.ts'
import { getField } from '../../platform/get-field.ts'
import { composeMessage } from './compose-message.ts'
import { fillButtons, fillChoices, type Message, Question, Reminder, type Choice } from './message.ts'
import { Expectation, parseReply, toReplyValue } from './parse-reply.ts'

const ATTEMPTS_DEFAULT = 3

const schema = z
  .strictObject({
    message: Question,
    expect: Expectation.default({ type: 'any' }),
    attempts: z.int('must be a whole number').min(1, 'must be 1 or more').max(10, 'must be at most 10').optional(),
    invalidMessage: Reminder.optional(),
    onInvalid: target.optional(),
  })
  .refine(({ message, expect }) => expect.type !== 'choice' || message.buttons || expect.options, {
    message: 'is required for a choice, unless the message has buttons',
    path: ['expect', 'options'],
  })
  .meta({
    if: { required: ['expect'], properties: { expect: { properties: { type: { const: 'choice' } } } } },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: {
      anyOf: [
        { properties: { message: { required: ['buttons'] } } },
        { properties: { expect: { required: ['options'] } } },
      ],
    },
  })
type Ask = z.output<typeof schema>

/**
 * Asks, and waits for a reply of the kind expected. Any other reply is answered with `invalidMessage`, or with the
 * question again, as often as `attempts` allows.
 */
export const ask = defineStep({
  type: 'ask',
  schema,
  literal: ['expect.pattern'],
  waits: () => true,
  recall: (_config, output) => ({ saved: toReplyValue(output) }),
  targets({ message, expect, onInvalid }) {
    return [
      ...optionTargets(message.buttons ?? [], 'message.buttons'),
      ...optionTargets(expect.options ?? [], 'expect.options'),
      ...(onInvalid ? [{ to: onInvalid, path: 'onInvalid' }] : []),
    ]
  },
  execute(config, turn) {
    return putQuestion(config, turn, { message: config.message, asked: 1 })
  },
  resume(config, turn, wakeup) {
    if (wakeup.type !== 'reply') return { kind: 'ignore' }
    const answer = parseReply(wakeup.message, config.expect, { choices: choicesOf(config, turn), turn })
    if (!answer) return askAgain(config, turn)
    const { value, text, choice } = answer
    return {
      kind: 'next',
      output: { value, text, choice: choice?.id ?? null, messageId: wakeup.message.id },
      saved: value,
      ...(choice ? { branch: choice.id } : {}),
      ...(choice?.next ? { to: choice.next } : {}),
    }
  },
})

function optionTargets(options: readonly Choice[], path: string) {
  return options.flatMap(({ next }, index) => (next ? [{ to: next, path: `${path}.${index}.next` }] : []))
}

/** What may be chosen: the options that are expected, or else the buttons. */
function choicesOf({ message, expect }: Ask, turn: StepContext): Choice[] {
  return expect.options ? fillChoices(expect.options, turn) : fillButtons(message.buttons ?? [], turn)
}

type Asked = { message: Pick<Message, 'body' | 'media'>; asked: number }

function putQuestion(config: Ask, turn: StepContext, { message, asked }: Asked): StepOutcome {
  const sent = composeMessage(turn, message, choicesOf(config, turn))
  return { ...sent, kind: 'wait', for: 'reply', until: null, memory: { asked } }
}

function askAgain(config: Ask, turn: StepContext): StepOutcome {
  const { attempts = ATTEMPTS_DEFAULT, invalidMessage, message, onInvalid } = config
  const asked = askedBefore(turn.memory)
  if (asked < attempts) return putQuestion(config, turn, { message: invalidMessage ?? message, asked: asked + 1 })
  if (onInvalid) return { kind: 'next', output: { value: null }, saved: null, branch: 'invalid', to: onInvalid }
  const times = asked === 1 ? 'once' : `${asked} times`
  return {
    kind: 'fail',
    error: { code: 'no_valid_answer', message: `Asked ${times}, and no reply was what was expected`, retryable: false },
  }
}

function askedBefore(memory: unknown): number {
  const asked = getField(memory, 'asked')
  return typeof asked === 'number' ? asked : 1
}
