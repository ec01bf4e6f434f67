import { z } from 'zod'
import { createdBy, id, lastEventId, openEnum, page, text, timestamp, toPage } from '../../trpc/schemas.ts'
import { phone } from '../contacts/schema.ts'
import { AudienceInput, params } from './audience/schema.ts'
import { Schedule } from './schedule.ts'

export const recipientStatus = z.enum([
  'pending',
  'sending',
  'sent',
  'delivered',
  'read',
  'failed',
  'skipped',
  'canceled',
  'unknown',
])

/** Number of recipients, in total and by status: the statuses add up to the total. */
export const Counts = z
  .object({
    total: z.int(),
    pending: z.int(),
    sending: z.int(),
    sent: z.int(),
    delivered: z.int(),
    read: z.int(),
    failed: z.int(),
    skipped: z.int(),
    canceled: z.int(),
    unknown: z.int(),
    accepted: z.int().meta({ description: 'Recipients of whom the provider accepted a message' }),
    replied: z.int().meta({ description: 'Recipients who wrote within 72 hours after the message' }),
    optedOut: z.int().meta({ description: 'Recipients who opted out of marketing within 72 hours after the message' }),
  })
  .meta({ id: 'BroadcastCounts' })
export type Counts = z.infer<typeof Counts>

const frequencyCap = z.strictObject({ max: z.int().min(1).max(100), hours: z.int().min(1).max(720) })

export const Broadcast = z
  .object({
    id,
    name: z.string(),
    description: z.string().nullable(),
    status: z.enum(['draft', 'scheduled', 'preparing', 'sending', 'paused', 'completed', 'canceled', 'failed']),
    channelId: id,
    templateId: id,
    template: z.object({ id, name: z.string(), language: z.string() }),
    params: z.record(z.string(), z.unknown()),
    audience: z.object({
      groupIds: z.array(id),
      tagIds: z.array(id),
      contactIds: z.array(id),
      recipientCount: z.int().meta({ description: 'Number of phone numbers in `recipients`' }),
      filter: z.record(z.string(), z.unknown()).nullable(),
      exclude: z.object({ groupIds: z.array(id), tagIds: z.array(id), contactIds: z.array(id) }),
    }),
    schedule: Schedule.nullable(),
    frequencyCap: frequencyCap.nullable(),
    requiresOptIn: z.boolean(),
    counts: Counts,
    pausedReason: openEnum([
      'user',
      'quality',
      'template_paused',
      'billing',
      'auth',
      'account',
      'failure_rate',
      'restored',
    ])
      .nullable()
      .meta({
        description: 'Why it is paused: a member, or a problem that further messages would have; null otherwise',
      }),
    failureReason: z.string().nullable().meta({ description: '`audience_empty`, or the code of the error' }),
    snapshotAt: timestamp.nullable().meta({ description: 'Time at which the list of recipients was complete' }),
    scheduledAt: timestamp.nullable(),
    startedAt: timestamp.nullable(),
    finishedAt: timestamp.nullable(),
    createdBy,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Broadcast' })
export type Broadcast = z.infer<typeof Broadcast>

export const BroadcastRecipient = z
  .object({
    id,
    broadcastId: id,
    contactId: id,
    contact: z.object({ id, name: z.string() }).nullable().meta({ description: 'Null if the contact was deleted' }),
    address: z
      .string()
      .nullable()
      .meta({ description: 'Phone number, or the id by which the channel identifies the contact' }),
    status: recipientStatus,
    skipReason: z.string().nullable(),
    error: z.record(z.string(), z.unknown()).nullable(),
    params: z.record(z.string(), z.unknown()),
    messageId: id.nullable(),
    providerMessageId: z.string().nullable(),
    attempt: z.int(),
    dueAt: timestamp.meta({ description: 'Time from which the message may be sent' }),
    repliedAt: timestamp.nullable(),
    optedOutAt: timestamp.nullable().meta({ description: 'Time of an opt-out within 72 hours after the message' }),
    sentAt: timestamp.nullable(),
    deliveredAt: timestamp.nullable(),
    readAt: timestamp.nullable(),
    failedAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'BroadcastRecipient' })
export type BroadcastRecipient = z.infer<typeof BroadcastRecipient>

export const BroadcastPage = toPage(Broadcast)
export const BroadcastRecipientPage = toPage(BroadcastRecipient)

export const BroadcastRef = z.strictObject({ broadcastId: id })
export type BroadcastRef = z.infer<typeof BroadcastRef>

export const FollowBroadcast = z.strictObject({ broadcastId: id, lastEventId })
export type FollowBroadcast = z.infer<typeof FollowBroadcast>

export const ListBroadcasts = z.strictObject(page)
export type ListBroadcasts = z.infer<typeof ListBroadcasts>

export const ListRecipients = z.strictObject({
  broadcastId: id,
  ...page,
  status: recipientStatus.optional().meta({ description: 'Only recipients with this status' }),
})
export type ListRecipients = z.infer<typeof ListRecipients>

export const CreateBroadcast = z.strictObject({
  name: text(120),
  description: text(500).nullish(),
  channelId: id.optional().meta({ description: 'If set, must be the channel of the template' }),
  templateId: id,
  params: params.optional(),
  audience: AudienceInput.optional(),
  frequencyCap: frequencyCap.nullish().meta({
    description: 'Contacts who were sent `max` broadcasts within the last `hours` are skipped',
  }),
  requiresOptIn: z
    .literal([true, false])
    .optional()
    .meta({ description: 'True skips contacts who did not opt in to marketing. Default: false' }),
})
export type CreateBroadcast = z.infer<typeof CreateBroadcast>

export const UpdateBroadcast = z.strictObject({
  broadcastId: id,
  name: text(120).optional(),
  description: text(500).nullish(),
  channelId: id.optional().meta({ description: 'If set, must be the channel of the template' }),
  templateId: id.optional(),
  params: params.optional().meta({ description: 'Replaces all variables' }),
  audience: AudienceInput.optional().meta({ description: 'Replaces the whole audience' }),
  frequencyCap: frequencyCap.nullish(),
  requiresOptIn: z.literal([true, false]).optional(),
})
export type UpdateBroadcast = z.infer<typeof UpdateBroadcast>

export const ScheduleBroadcast = z.strictObject({ broadcastId: id, ...Schedule.shape })
export type ScheduleBroadcast = z.infer<typeof ScheduleBroadcast>

export const RetryBroadcast = z.strictObject({
  broadcastId: id,
  recipientIds: z
    .array(id)
    .min(1)
    .max(1000)
    .optional()
    .meta({ description: 'Retries only these of the failed recipients. Default: all' }),
  notAcceptedRecipientIds: z.array(id).max(1000).optional().meta({
    description:
      'Recipients whose delivery is unknown, of whom you have established that the provider did not accept the message',
  }),
})
export type RetryBroadcast = z.infer<typeof RetryBroadcast>

export const PreviewBroadcast = z.strictObject({
  broadcastId: id,
  limit: z.int().min(1).max(20).default(5).meta({ description: 'The largest number of contacts' }),
})
export type PreviewBroadcast = z.infer<typeof PreviewBroadcast>

const TESTED_MAX = 10

export const TestBroadcast = z.strictObject({
  broadcastId: id,
  contactIds: z.array(id).max(TESTED_MAX).optional(),
  phones: z.array(phone).max(TESTED_MAX).optional().meta({ description: 'Those that are no contacts become contacts' }),
})
export type TestBroadcast = z.infer<typeof TestBroadcast>

const RecipientRef = z.object({ recipientId: id, contactId: id, address: z.string().nullable() })

export const BroadcastReport = z
  .object({
    broadcastId: id,
    status: Broadcast.shape.status,
    snapshot: z
      .object({
        at: timestamp,
        hash: z.string().meta({
          description:
            'SHA-256, in hexadecimal, of the digests of all recipients in the order of their IDs. The digest of a recipient is the SHA-256 of its contact ID, address and parameters',
        }),
      })
      .nullable()
      .meta({ description: 'Null until the list of recipients is complete' }),
    counts: Counts,
    countsAddUp: z.boolean().meta({ description: 'True if each recipient is counted in exactly one status' }),
    acceptedTwice: z
      .array(RecipientRef.extend({ acceptedCount: z.int() }))
      .meta({ description: 'Recipients of whom the provider accepted more than one message. It should be empty' }),
    doubts: z.object({
      total: z.int(),
      open: z.int(),
      items: z
        .array(
          RecipientRef.extend({
            status: recipientStatus,
            doubtedAt: timestamp,
            settledAt: timestamp.nullable(),
            settledBy: z.enum(['provider', 'member']).nullable(),
          }),
        )
        .meta({ description: 'The first 1000' }),
    }),
  })
  .meta({ id: 'BroadcastReport' })
export type BroadcastReport = z.infer<typeof BroadcastReport>

export const BroadcastPreview = z
  .object({
    items: z.array(
      z.object({
        contactId: id.nullable().meta({ description: 'Null for a phone number that is no contact yet' }),
        name: z.string().meta({ description: 'Name of the contact' }),
        address: z.string().nullable(),
        skipReason: z.string().nullable(),
        params: z.record(z.string(), z.string()).meta({ description: 'The values with their placeholders filled in' }),
        body: z.string().nullable().meta({ description: 'Text of the message; null if the parameters do not fit' }),
      }),
    ),
  })
  .meta({ description: 'The messages to the first contacts of the audience' })
export type BroadcastPreview = z.infer<typeof BroadcastPreview>

export const BroadcastEstimate = z
  .object({
    total: z.int(),
    sendable: z.int(),
    skipped: z.record(z.string(), z.int()).meta({ description: 'Number of contacts by the reason to skip them' }),
    complete: z
      .literal([true, false])
      .meta({ description: 'False if the audience has more than 20,000 contacts, of which the first are counted' }),
    seconds: z.int().meta({ description: 'Time of sending at the rate of the channel' }),
    remainingToday: z
      .int()
      .nullable()
      .meta({ description: 'People to whom the business may still write first today; null without a limit' }),
  })
  .meta({ description: 'The numbers of contacts, and the time of sending' })
export type BroadcastEstimate = z.infer<typeof BroadcastEstimate>

export const BroadcastTest = z
  .object({
    items: z.array(z.object({ contactId: id, messageId: id.nullable(), skipReason: z.string().nullable() })),
  })
  .meta({ description: 'The test messages, or why they are not sent' })
export type BroadcastTest = z.infer<typeof BroadcastTest>
