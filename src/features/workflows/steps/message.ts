import { z } from 'zod'
import { ident, target, templateText } from '../../../engine/definition/names.ts'
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

export const Message = z.strictObject({
  body: templateText,
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

/** The options with their titles filled in; what a placeholder makes too long is cut to what a channel shows. */
export function fillOptions(options: readonly Choice[], turn: Turn): Choice[] {
  return options.map((option) => ({ ...option, title: turn.text(option.title).slice(0, LIST_TITLE_MAX) || option.id }))
}

export function fillBody(body: string, turn: Turn): string {
  return turn.text(body).slice(0, BODY_MAX)
}
