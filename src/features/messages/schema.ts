import { z } from 'zod'
import { FETCHABLE_URL, isFetchableUrl } from '../../message-content/content.ts'
import { contentShape, hasOneSource, ONE_SOURCE, SOURCE_SCHEMA } from '../../message-content/content-shape.ts'
import { findContentProblem, KINDS_SCHEMA } from '../../message-content/find-content-problem.ts'
import { FILENAME_MAX, LIST_MAX, LIST_TITLE_MAX, OPTION_ID_MAX, URL_MAX } from '../../message-content/limits.ts'
import { bulkItems, bulkResult } from '../../trpc/bulk.ts'
import { id, text, timestampInput } from '../../trpc/schemas.ts'
import { phone } from '../contacts/schema.ts'
import { messageBody } from '../conversations/schema.ts'

const url = text(URL_MAX)
  .refine(isFetchableUrl, FETCHABLE_URL)
  .meta({ description: 'Public http or https address, from which the provider fetches the file' })
const degrees = (max: number) => z.number().min(-max).max(max)

const mediaId = id.meta({
  description: 'ID of a stored file, see `POST /api/media`. The provider gets it when the message is sent',
})

const Media = z
  .strictObject({
    type: z.enum(['image', 'video', 'audio', 'document']),
    url: url.optional(),
    mediaId: mediaId.optional(),
    filename: text(FILENAME_MAX).optional().meta({ description: 'Name shown for a document' }),
  })
  .refine(({ type, filename }) => filename === undefined || type === 'document', {
    message: 'is only allowed for a document',
    path: ['filename'],
  })
  .refine(hasOneSource, ONE_SOURCE)
  .meta({ id: 'MessageFile', ...SOURCE_SCHEMA })

const button = z.strictObject({ id: text(OPTION_ID_MAX), title: text(LIST_TITLE_MAX) })

const TemplateChoice = z
  .strictObject({
    templateId: id.optional().meta({ description: 'ID of the template. Set this, or `name` and `language`' }),
    name: text(512).optional(),
    language: text(20).optional(),
    params: z
      .record(text(512), z.string().max(2048))
      .refine((params) => Object.keys(params).length <= 100, 'must have at most 100 entries')
      .default({})
      .meta({ description: 'Values by parameter: its name, or `1`, `2`… for positional parameters' }),
  })
  .refine(
    ({ templateId, name, language }) => (templateId !== undefined) === (name === undefined && language === undefined),
    {
      message: 'must be set if and only if name and language are not',
      path: ['templateId'],
    },
  )
  .refine(({ name, language }) => (name === undefined) === (language === undefined), {
    message: 'is required with name',
    path: ['language'],
  })
  .meta({
    id: 'TemplateChoice',
    oneOf: [{ required: ['templateId'] }, { required: ['name'] }],
    dependentRequired: { name: ['language'], language: ['name'] },
  })
export type TemplateChoice = z.infer<typeof TemplateChoice>

const content = {
  body: messageBody.optional().meta({ description: 'Text of the message, or the caption of a file' }),
  media: Media.optional().meta({ description: 'A file. Its `body` has at most 1024 characters' }),
  buttons: z
    .array(button)
    .min(1, 'must have at least 1 entry')
    .max(LIST_MAX, `must have at most ${LIST_MAX} entries`)
    .optional()
    .meta({ description: 'Options to reply with: up to 3 are shown as buttons, 4 to 10 as a list' }),
  ...contentShape({ text, url, degrees, messageId: id, mediaId }),
  template: TemplateChoice.optional().meta({ description: 'An approved template, which needs no open service window' }),
  replyToId: id.optional().meta({ description: 'ID of the message of the conversation that is answered' }),
  sendAt: timestampInput
    .optional()
    .meta({ description: 'Time to send the message at. Until then its status is `scheduled`' }),
}

const MessageInput = z.strictObject(content)
export type MessageInput = z.infer<typeof MessageInput>

function reportProblem(input: MessageInput, issues: z.RefinementCtx): void {
  const problem = findContentProblem(input)
  if (problem) issues.addIssue({ code: 'custom', path: problem.path, message: problem.message })
}

export const SendMessage = z
  .strictObject({ conversationId: id, ...content })
  .superRefine(reportProblem)
  .meta(KINDS_SCHEMA)
export type SendMessage = z.infer<typeof SendMessage>

const Recipient = z
  .strictObject({
    phone: phone.optional().meta({ description: 'Phone number. A contact is created for an unknown number' }),
    contactId: id.optional(),
    externalId: text(200).optional().meta({ description: 'Your ID of an existing contact' }),
    name: text(200).optional().meta({ description: 'Name of the contact if it is created' }),
  })
  .refine((to) => [to.phone, to.contactId, to.externalId].filter((value) => value !== undefined).length === 1, {
    message: 'must have exactly one of phone, contactId and externalId',
  })
  .meta({ oneOf: [{ required: ['phone'] }, { required: ['contactId'] }, { required: ['externalId'] }] })
export type Recipient = z.infer<typeof Recipient>

export const SendToRecipient = z
  .strictObject({
    to: Recipient,
    channelId: id.optional().meta({ description: 'Required unless the workspace has exactly one connected channel' }),
    ...content,
  })
  .superRefine(reportProblem)
  .meta(KINDS_SCHEMA)
export type SendToRecipient = z.infer<typeof SendToRecipient>

export const MessageRef = z.strictObject({ messageId: id })
export type MessageRef = z.infer<typeof MessageRef>

export const BulkMessages = z.strictObject({
  items: bulkItems({
    description: 'The fields of `POST /api/messages`. Several messages to one person are sent in their order',
    example: {
      to: { phone: '+14155550100' },
      template: { name: 'order_update', language: 'en', params: { number: '4711' } },
    },
  }),
})
export type BulkMessages = z.infer<typeof BulkMessages>

const count = z.int()

export const BulkMessageResults = z
  .object({
    results: z.array(bulkResult(['queued', 'scheduled'], 'message').meta({ id: 'BulkMessageResult' })),
    counts: z
      .object({ queued: count, scheduled: count, failed: count })
      .meta({ description: 'Messages that were queued and scheduled, and items that failed' }),
  })
  .meta({ description: 'The outcome of each item' })
export type BulkMessageResults = z.infer<typeof BulkMessageResults>
