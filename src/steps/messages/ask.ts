import { z } from 'zod'
import { target } from '../../engine/language/definition/names.ts'
import { defineStep, type StepOutcome, type StepContext } from '../../engine/model/step.ts'
import { getField } from '../../platform/fields.ts'
import { BUTTONS_MAX } from '../../message-content/limits.ts'
import { composeMessage, isWindowOpen } from './compose-message.ts'
import { mediaPaths } from './media.ts'
import { fillButtons, fillChoices, type Message, Question, Reminder, type Choice } from './message.ts'
import { sendTemplate, TemplateMessage, templatePaths } from './template-message.ts'
import { Expectation, parseReply, REPLY_OUTPUT, toReplyValue } from './parse-reply.ts'

const ATTEMPTS_DEFAULT = 3

const schema = z
  .strictObject({
    message: Question,
    expect: Expectation.default({ type: 'any' }),
    attempts: z.int('must be a whole number').min(1, 'must be 1 or more').max(10, 'must be at most 10').optional(),
    invalidMessage: Reminder.optional(),
    onInvalid: target.optional(),
    ifWindowClosed: z.union([z.enum(['fail']), TemplateMessage], 'must be fail or a template').optional(),
  })
  .refine(({ message: { media }, expect: { options = [] } }) => !media || options.length <= BUTTONS_MAX, {
    message: `must have at most ${BUTTONS_MAX} entries when the message has media`,
    path: ['expect', 'options'],
    params: { code: 'too_many_buttons' },
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
 * Asks a question and waits for a reply of the expected kind. Any other reply is answered with `invalidMessage`, or with
 * the question again, as often as `attempts` allows. `ifWindowClosed` is a template that asks the question instead when
 * the service window is closed.
 */
export const ask = defineStep({
  type: 'ask',
  awaits: 'reply',
  needsContact: true,
  schema,
  literal: [
    'expect.pattern',
    ...templatePaths('ifWindowClosed.'),
    ...mediaPaths('message'),
    ...mediaPaths('invalidMessage'),
  ],
  output: () => REPLY_OUTPUT,
  waits: () => true,
  restoreOutput: (_config, output) => ({ saved: toReplyValue(output) }),
  targets({ message, expect, onInvalid }) {
    return [
      ...optionTargets(message.buttons ?? [], 'message.buttons'),
      ...optionTargets(expect.options ?? [], 'expect.options'),
      ...(onInvalid ? [{ to: onInvalid, path: 'onInvalid' }] : []),
    ]
  },
  execute(config, context) {
    const { message, ifWindowClosed = 'fail' } = config
    if (ifWindowClosed === 'fail' || isWindowOpen(context)) {
      return sendQuestion(config, context, { message, timesAsked: 1 })
    }
    const report = sendTemplate(context, ifWindowClosed)
    return { ...report, kind: 'suspend', for: 'reply', until: null, state: { timesAsked: 1 } }
  },
  resume(config, context, wakeup) {
    if (wakeup.type !== 'reply') return { kind: 'ignore' }
    const answer = parseReply(wakeup.message, config.expect, { choices: listChoices(config, context), context })
    if (!answer) return askAgain(config, context)
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

/** Lists the choices: the expected options, or else the buttons. */
function listChoices({ message, expect }: Ask, context: StepContext): Choice[] {
  return expect.options ? fillChoices(expect.options, context) : fillButtons(message.buttons ?? [], context)
}

type QuestionAttempt = { message: Pick<Message, 'body' | 'media'>; timesAsked: number }

function sendQuestion(config: Ask, context: StepContext, { message, timesAsked }: QuestionAttempt): StepOutcome {
  const report = composeMessage(context, message, listChoices(config, context))
  return { ...report, kind: 'suspend', for: 'reply', until: null, state: { timesAsked } }
}

function askAgain(config: Ask, context: StepContext): StepOutcome {
  const { attempts = ATTEMPTS_DEFAULT, invalidMessage, message, onInvalid } = config
  const timesAsked = readTimesAsked(context.state)
  if (timesAsked < attempts)
    return sendQuestion(config, context, { message: invalidMessage ?? message, timesAsked: timesAsked + 1 })
  if (onInvalid) return { kind: 'next', output: { value: null }, saved: null, branch: 'invalid', to: onInvalid }
  const times = timesAsked === 1 ? 'once' : `${timesAsked} times`
  return {
    kind: 'fail',
    error: {
      code: 'no_valid_answer',
      message: `The question was asked ${times}, and no reply was valid`,
      retryable: false,
    },
  }
}

function readTimesAsked(state: unknown): number {
  const timesAsked = getField(state, 'timesAsked')
  return typeof timesAsked === 'number' ? timesAsked : 1
}
