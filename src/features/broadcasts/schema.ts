import { z } from 'zod'
import { id, timestamp, page, toPage, text } from '../../trpc/schemas.ts'

const recipientStatus = z.enum([
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

/** Number of recipients, in total and by status. */
export const Counts = z.object({
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
})
export type Counts = z.infer<typeof Counts>

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
    audience: z.object({ groupIds: z.array(id), tagIds: z.array(id), contactIds: z.array(id) }),
    counts: Counts,
    scheduledAt: timestamp.nullable(),
    startedAt: timestamp.nullable(),
    completedAt: timestamp.nullable(),
    createdBy: id.nullable(),
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
    contact: z.object({ id, name: z.string() }),
    address: z.string().meta({ description: 'Phone number, or the id by which the channel identifies the contact' }),
    status: recipientStatus,
    skipReason: z.string().nullable(),
    error: z.record(z.string(), z.unknown()).nullable(),
    params: z.record(z.string(), z.unknown()),
    messageId: id.nullable(),
    attempt: z.int(),
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

export const ListBroadcasts = z.strictObject(page)
export type ListBroadcasts = z.infer<typeof ListBroadcasts>

export const ListRecipients = z.strictObject({
  id,
  ...page,
  status: recipientStatus.optional().meta({ description: 'Only recipients with this status' }),
})
export type ListRecipients = z.infer<typeof ListRecipients>

const Audience = z.strictObject({
  groupIds: z.array(id).max(100).optional(),
  tagIds: z.array(id).max(100).optional(),
  contactIds: z.array(id).max(1000).optional(),
})
export type Audience = z.infer<typeof Audience>

const variable = z.string().regex(/^[A-Za-z0-9]\w{0,63}$/, 'must be a name of up to 64 letters, digits and underscores')
const params = z.record(variable, text(1024)).meta({
  description: 'Variables of the template. Each value is a text that may contain placeholders such as {{contact.name}}',
})

export const CreateBroadcast = z.strictObject({
  name: text(120),
  description: text(500).nullish(),
  channelId: id.optional().meta({ description: 'If set, must be the channel of the template' }),
  templateId: id,
  params: params.optional(),
  audience: Audience.optional(),
})
export type CreateBroadcast = z.infer<typeof CreateBroadcast>

export const UpdateBroadcast = z.strictObject({
  broadcastId: id,
  name: text(120).optional(),
  description: text(500).nullish(),
  channelId: id.optional().meta({ description: 'If set, must be the channel of the template' }),
  templateId: id.optional(),
  params: params.optional().meta({ description: 'Replaces all variables' }),
  audience: Audience.optional().meta({ description: 'Replaces the whole audience' }),
})
export type UpdateBroadcast = z.infer<typeof UpdateBroadcast>
