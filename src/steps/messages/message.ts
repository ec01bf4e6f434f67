import { z } from 'zod'
import { ident, target, templateText } from '../../engine/language/definition/names.ts'
import { StepError } from '../../engine/language/step-error.ts'
import type { StepContext } from '../../engine/model/step.ts'
import { contentShape } from '../../message-content/content-shape.ts'
import { findContentProblem, KINDS_SCHEMA } from '../../message-content/find-content-problem.ts'
import {
  BUTTON_TITLE_MAX,
  BUTTONS_MAX,
  CAPTION_MAX,
  LIST_MAX,
  LIST_TITLE_MAX,
  TEXT_MAX,
} from '../../message-content/limits.ts'
import { fetchableUrl, Media, mediaId } from './media.ts'
import { TemplatePart } from './template-message.ts'
import type { ButtonOption } from '../../message-content/content.ts'
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
  .refine((text) => text.includes('{{') || text.length <= TEXT_MAX, {
    message: `must have at most ${TEXT_MAX} characters`,
    params: { code: 'message_too_long' },
  })
  .meta(maxLengthUnlessTemplate(TEXT_MAX))

const degrees = (max: number) =>
  z.union([z.number().min(-max).max(max), templateText.regex(/\{\{/, 'must be a number')])

/** Up to three buttons have shorter titles than a list. */
function buttons<Item extends z.ZodType<ButtonOption>>(item: Item) {
  return several(item, LIST_MAX)
    .meta({
      if: { maxItems: BUTTONS_MAX },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { items: { properties: { title: maxLengthUnlessTemplate(BUTTON_TITLE_MAX) } } },
      maxItems: LIST_MAX,
    })
    .optional()
}

/** Describes the form of a message to who wrote its text alone. */
const EXPECTED: { error: z.core.$ZodErrorMap } = {
  error: ({ code, input }) =>
    code === 'invalid_type' && typeof input === 'string' ? 'must be an object such as {"body": "Hello"}' : undefined,
}

/** Exactly one kind of content; a body may accompany some kinds. */
export const Message = z
  .strictObject(
    {
      body: body.optional(),
      media: Media.optional(),
      buttons: buttons(z.strictObject({ id: ident, title: title(LIST_TITLE_MAX) })),
      ...contentShape({ text: title, url: fetchableUrl, degrees, messageId: templateText, mediaId }),
      template: TemplatePart.optional(),
      replyToId: templateText.optional(),
    },
    EXPECTED,
  )
  .superRefine(reportProblem)
  .refine(({ template, replyToId }) => !template || replyToId === undefined, {
    message: 'is not allowed with template',
    path: ['replyToId'],
  })
  .meta(KINDS_SCHEMA)
export type Message = z.output<typeof Message>

/** A message whose buttons are possible answers. */
export const Question = z
  .strictObject(
    {
      body,
      media: Media.optional(),
      buttons: buttons(z.strictObject({ id: ident, title: title(LIST_TITLE_MAX), next: target.optional() })),
    },
    EXPECTED,
  )
  .superRefine(reportProblem)
export type Question = z.output<typeof Question>

/** Message after an invalid reply; it repeats the choices of the question. */
export const Reminder = z.strictObject({ body, media: Media.optional() }, EXPECTED).superRefine(reportProblem)

export const Choices = several(
  z.strictObject({ id: ident, title: title(LIST_TITLE_MAX), next: target.optional() }),
  LIST_MAX,
)

function reportProblem(message: Parameters<typeof findContentProblem>[0], issues: z.RefinementCtx): void {
  const problem = findContentProblem(message)
  if (!problem) return
  const { code, ...issue } = problem
  issues.addIssue({ code: 'custom', ...issue, ...(code ? { params: { code } } : {}) })
}

/** Fills in the titles of buttons and truncates them to the limit of channels. More buttons than fit are sent as a list. */
export function fillButtons(buttons: readonly Choice[], context: StepContext): Choice[] {
  return fillTitles(buttons, context, buttons.length > BUTTONS_MAX ? LIST_TITLE_MAX : BUTTON_TITLE_MAX)
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

export function fillBody(body: string, context: StepContext, max = TEXT_MAX): string {
  const text = context.text(body)
  if (text.trim() === '') {
    throw new StepError('empty_message', 'With its placeholders filled in, the message is empty', FINAL)
  }
  return assertLength(max, text)
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
