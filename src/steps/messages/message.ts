import { z } from 'zod'
import { ident, target, templateText } from '../../engine/language/definition/names.ts'
import { StepError } from '../../engine/language/step-error.ts'
import type { StepContext } from '../../engine/model/step.ts'
import { getField } from '../../platform/get-field.ts'
import { Media } from './media.ts'

/** Limits of channels: three buttons of 20 characters, or a list of ten rows of 24. */
const BUTTONS_MAX = 3
const BUTTON_TITLE_MAX = 20
const LIST_MAX = 10
const LIST_TITLE_MAX = 24
const BODY_MAX = 4096
/** Texts with media or buttons are shorter. */
const CAPTION_MAX = 1024

export type ButtonOption = { id: string; title: string }
/** An option with the step that follows when it is chosen. */
export type Choice = ButtonOption & { next?: string | undefined }

/** Exempts texts with placeholders, whose length is only known once they are filled in. */
function maxLengthUnlessTemplate(max: number) {
  return { anyOf: [{ maxLength: max }, { pattern: '\\{\\{' }] }
}

function title(max: number) {
  return z
    .string()
    .min(1, 'must not be empty')
    .refine((text) => text.includes('{{') || text.length <= max, {
      message: `must have at most ${max} characters`,
      params: { code: 'title_too_long' },
    })
    .meta(maxLengthUnlessTemplate(max))
}

function several<Item extends z.ZodType<ButtonOption>>(item: Item, max: number) {
  return z
    .array(item)
    .min(1, 'must have at least 1 entry')
    .refine((options) => options.length <= max, {
      message: `must have at most ${max} entries`,
      params: { code: 'too_many_buttons' },
    })
    .refine((options) => new Set(options.map(({ id }) => id)).size === options.length, 'must not repeat an id')
    .meta({ maxItems: max })
}

const body = templateText
  .refine((text) => text.includes('{{') || text.length <= BODY_MAX, {
    message: `must have at most ${BODY_MAX} characters`,
    params: { code: 'message_too_long' },
  })
  .meta(maxLengthUnlessTemplate(BODY_MAX))

/** A text, a file, or both; then the text is the file's caption. */
export const Message = z
  .strictObject({
    body: body.optional(),
    media: Media.optional(),
    buttons: several(z.strictObject({ id: ident, title: title(BUTTON_TITLE_MAX) }), BUTTONS_MAX).optional(),
  })
  .superRefine((message, issues) => {
    const problem = findProblem(message)
    if (problem) issues.addIssue({ code: 'custom', ...problem })
  })
  .meta({ anyOf: [{ required: ['body'] }, { required: ['media'] }] })
export type Message = z.output<typeof Message>

/** A message whose buttons are possible answers. */
export const Question = z
  .strictObject({
    body,
    media: Media.optional(),
    buttons: several(
      z.strictObject({ id: ident, title: title(BUTTON_TITLE_MAX), next: target.optional() }),
      BUTTONS_MAX,
    ).optional(),
  })
  .superRefine((message, issues) => {
    const problem = findProblem(message)
    if (problem) issues.addIssue({ code: 'custom', ...problem })
  })
export type Question = z.output<typeof Question>

/** Message after an invalid reply; it repeats the choices of the question. */
export const Reminder = z.strictObject({ body, media: Media.optional() }).superRefine((message, issues) => {
  const problem = findProblem(message)
  if (problem) issues.addIssue({ code: 'custom', ...problem })
})

export const Choices = several(
  z.strictObject({ id: ident, title: title(LIST_TITLE_MAX), next: target.optional() }),
  LIST_MAX,
)

type Problem = { path: string[]; message: string; params?: { code: string } }

function findProblem({
  body: text,
  media,
  buttons,
}: {
  body?: string | undefined
  media?: unknown
  buttons?: unknown
}) {
  const isAudio = getField(media, 'type') === 'audio'
  const problems: (Problem | false)[] = [
    text === undefined && !media && { path: ['body'], message: 'is required without media' },
    text === undefined && Boolean(buttons) && { path: ['body'], message: 'is required with buttons' },
    isAudio &&
      text !== undefined && { path: ['body'], message: 'is not allowed with audio: send it in a step of its own' },
    Boolean(media) && text !== undefined && !text.includes('{{') && text.length > CAPTION_MAX && TOO_LONG,
  ]
  return problems.find((problem) => problem !== false)
}

const TOO_LONG: Problem = {
  path: ['body'],
  message: `must have at most ${CAPTION_MAX} characters with media`,
  params: { code: 'message_too_long' },
}

/** Fills in the titles of buttons and truncates them to the limit of channels. */
export function fillButtons(buttons: readonly Choice[], context: StepContext): Choice[] {
  return fillTitles(buttons, context, BUTTON_TITLE_MAX)
}

export function fillChoices(choices: readonly Choice[], context: StepContext): Choice[] {
  return fillTitles(choices, context, LIST_TITLE_MAX)
}

function fillTitles(options: readonly Choice[], context: StepContext, max: number): Choice[] {
  return options.map((option) => {
    // Cuts by code points, because half of a surrogate pair cannot be stored.
    const title = [...context.text(option.title).trim()].slice(0, max).join('')
    return { ...option, title: title || option.id }
  })
}

export function fillBody(body: string, context: StepContext): string {
  const text = context.text(body)
  if (text.trim() === '') {
    throw new StepError('empty_message', 'With its placeholders filled in, the message is empty', FINAL)
  }
  return assertLength(BODY_MAX, text)
}

/** Fills in the caption of a file; one that is empty is left out. */
export function fillCaption(body: string, context: StepContext): string | null {
  const text = context.text(body)
  return text.trim() === '' ? null : assertLength(CAPTION_MAX, text)
}

function assertLength(max: number, text: string): string {
  if (text.length <= max) return text
  throw new StepError('message_too_long', `The message is longer than ${max} characters`, FINAL)
}

const FINAL = { retryable: false }
