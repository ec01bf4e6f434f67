import { z } from 'zod'
import { ident, target, templateText } from '../../../engine/definition/names.ts'
import { StepError } from '../../../engine/step-error.ts'
import type { Turn } from '../../../engine/step.ts'

/** The most that channels show: three buttons of twenty characters, or a list of ten rows of twenty-four. */
const BUTTONS_MAX = 3
const BUTTON_TITLE_MAX = 20
const LIST_MAX = 10
const LIST_TITLE_MAX = 24
const BODY_MAX = 4096

export type Option = { id: string; title: string }
/** An option that leads somewhere when it is chosen. */
export type Choice = Option & { next?: string | undefined }

function title(max: number) {
  return z
    .string()
    .min(1, 'must not be empty')
    .refine((text) => text.includes('{{') || text.length <= max, {
      message: `must have at most ${max} characters`,
      params: { code: 'title_too_long' },
    })
}

function several<Item extends z.ZodType<Option>>(item: Item, max: number) {
  return z
    .array(item)
    .min(1, 'must have at least 1 entry')
    .refine((options) => options.length <= max, {
      message: `must have at most ${max} entries`,
      params: { code: 'too_many_buttons' },
    })
    .refine((options) => new Set(options.map(({ id }) => id)).size === options.length, 'must not repeat an id')
}

const body = templateText.refine((text) => text.includes('{{') || text.length <= BODY_MAX, {
  message: `must have at most ${BODY_MAX} characters`,
  params: { code: 'message_too_long' },
})

export const Message = z.strictObject({
  body,
  buttons: several(z.strictObject({ id: ident, title: title(BUTTON_TITLE_MAX) }), BUTTONS_MAX).optional(),
})
export type Message = z.output<typeof Message>

/** A message whose buttons are answers. */
export const Question = Message.extend({
  buttons: several(
    z.strictObject({ id: ident, title: title(BUTTON_TITLE_MAX), next: target.optional() }),
    BUTTONS_MAX,
  ).optional(),
})
export type Question = z.output<typeof Question>

export const Choices = several(
  z.strictObject({ id: ident, title: title(LIST_TITLE_MAX), next: target.optional() }),
  LIST_MAX,
)

/** Buttons with their titles filled in; what a placeholder makes too long is cut to what a channel shows. */
export function fillButtons(buttons: readonly Choice[], turn: Turn): Choice[] {
  return fillTitles(buttons, turn, BUTTON_TITLE_MAX)
}

export function fillChoices(choices: readonly Choice[], turn: Turn): Choice[] {
  return fillTitles(choices, turn, LIST_TITLE_MAX)
}

function fillTitles(options: readonly Choice[], turn: Turn, max: number): Choice[] {
  return options.map((option) => {
    // By code points: half of a pair of surrogates cannot be stored.
    const title = [...turn.text(option.title).trim()].slice(0, max).join('')
    return { ...option, title: title || option.id }
  })
}

export function fillBody(body: string, turn: Turn): string {
  const text = turn.text(body)
  if (text.trim() === '') {
    throw new StepError('empty_message', 'With its placeholders filled in, the message is empty', FINAL)
  }
  if (text.length > BODY_MAX) {
    throw new StepError('message_too_long', `The message is longer than ${BODY_MAX} characters`, FINAL)
  }
  return text
}

const FINAL = { retryable: false }
