import { z } from 'zod'
import { id, openEnum, page, pageLimit, timestamp, toPage } from '../../trpc/schemas.ts'

const TYPES = ['message', 'event', 'timer', 'start', 'cancel', 'fail', 'result', 'signal'] as const

export const DeadLetter = z
  .object({
    id: id.meta({ description: 'The ID of the mailbox item' }),
    type: openEnum(TYPES).meta({ description: 'What the item was', examples: ['message'] }),
    contactId: id.nullable(),
    conversationId: id.nullable(),
    messageId: id.nullable().meta({ description: 'The message, for the types `message` and `event`' }),
    event: z
      .string()
      .nullable()
      .meta({
        description: 'The type of the event, or the name of the signal',
        examples: ['message_received'],
      }),
    runId: id.nullable().meta({ description: 'The run that the item was for, or that caused the failure' }),
    workflowId: id
      .nullable()
      .meta({ description: 'The workflow of that run, or of the run that could not be started' }),
    error: z
      .object({
        name: z.string().meta({ examples: ['TypeError'] }),
        code: z.string().meta({ examples: ['internal'] }),
        message: z.string().meta({ examples: ['The item could not be processed because of an internal error'] }),
      })
      .meta({ description: 'The last failure' }),
    attempts: z.int(),
    createdAt: timestamp.meta({ description: 'When the item was put into the mailbox' }),
    failedAt: timestamp.meta({ description: 'When it failed for the last time' }),
  })
  .meta({ id: 'DeadLetter' })
export type DeadLetter = z.infer<typeof DeadLetter>

export const DeadLetterPage = toPage(DeadLetter)

export const DeadLetterRef = z.strictObject({ deadLetterId: id })
export type DeadLetterRef = z.infer<typeof DeadLetterRef>

const filters = {
  contactId: id.optional(),
  conversationId: id.optional(),
  type: z
    .enum(TYPES, { error: `must be one of ${TYPES.join(', ')}` })
    .optional()
    .meta({ description: 'Only items of this type' }),
}

export const ListDeadLetters = z.strictObject({ ...page, ...filters })
export type ListDeadLetters = z.output<typeof ListDeadLetters>
export type DeadLetterFilters = Omit<ListDeadLetters, 'limit' | 'offset' | 'cursor'>

export const RetryDeadLetters = z.strictObject({
  ...filters,
  limit: pageLimit(100).meta({ description: 'The largest number of items to retry; the oldest come first' }),
})
export type RetryDeadLetters = z.output<typeof RetryDeadLetters>

export const RetriedDeadLetters = z
  .object({
    retried: z.int().meta({ description: 'Number of items that are processed again' }),
    remaining: z.int().meta({ description: 'Number of dead letters with these filters that are left' }),
  })
  .meta({ id: 'RetriedDeadLetters' })
export type RetriedDeadLetters = z.infer<typeof RetriedDeadLetters>
