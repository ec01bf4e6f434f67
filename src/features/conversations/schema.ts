import { z } from 'zod'
import { MessageMedia } from '../media/schema.ts'
import {
  id,
  timestamp,
  page,
  toPage,
  text,
  lastEventId,
  nextCursor,
  openEnum,
  timestampInput,
} from '../../trpc/schemas.ts'

const ConversationStatus = z.enum(['active', 'snoozed', 'closed'])
const MessageStatus = z.enum([
  'received',
  'scheduled',
  'queued',
  'sending',
  'sent',
  'delivered',
  'read',
  'played',
  'failed',
  'canceled',
])
const MessageType = openEnum([
  'text',
  'image',
  'video',
  'audio',
  'document',
  'sticker',
  'location',
  'contacts',
  'reaction',
  'interactive',
  'button',
  'order',
  'template',
  'note',
  'unsupported',
])
const SenderType = openEnum(['contact', 'user', 'key', 'device', 'workflow', 'broadcast', 'system'])
const Direction = z.enum(['inbound', 'outbound'])

const MESSAGE_BODY_MAX = 4096
export const messageBody = text(MESSAGE_BODY_MAX)

export const Conversation = z
  .object({
    id,
    contactId: id,
    status: ConversationStatus,
    channelId: id,
    channelType: z.enum(['sandbox', 'whatsapp']),
    contact: z.object({ id, name: z.string(), phone: z.string().nullable() }),
    assigneeId: id.nullable(),
    unreadCount: z.int(),
    lastMessage: z
      .object({ id, body: z.string().nullable(), direction: Direction, type: MessageType, at: z.iso.datetime() })
      .nullable(),
    lastMessageAt: timestamp.nullable(),
    lastInboundAt: timestamp.nullable(),
    windowExpiresAt: timestamp
      .nullable()
      .meta({ description: 'End of the customer service window: 24 hours after the last message of the customer' }),
    canSendFreeform: z.boolean().meta({
      description: 'True while the service window is open: only then may other messages than templates be sent',
    }),
    automation: z.object({
      state: z.enum(['on', 'paused']),
      reason: z.enum(['human_reply', 'handoff', 'manual', 'opt_out']).nullable(),
      handoffReason: z.string().nullable().meta({
        description:
          'Text for the members from the step or tool that handed the conversation over, up to 1,000 characters',
      }),
      until: timestamp.nullable(),
    }),
    activeRunId: id.nullable(),
    snoozedUntil: timestamp.nullable(),
    closedAt: timestamp.nullable(),
    reopenCount: z.int(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Conversation' })
export type Conversation = z.infer<typeof Conversation>

export const Message = z
  .object({
    id,
    conversationId: id,
    contactId: id,
    channelId: id,
    direction: z
      .enum(['inbound', 'outbound', 'internal'])
      .meta({ description: '`internal` is a note that only members of the workspace see' }),
    type: MessageType.meta({
      description:
        'Kind of the message. `interactive` has options or a link, `button` is the choice of an option, `unsupported` has content that the provider does not pass on',
    }),
    body: z.string().nullable(),
    content: z.record(z.string(), z.unknown()).nullable().meta({
      description:
        'Parts other than text. `buttonId` is the option that the customer chose, `answers` has the answers to a WhatsApp Flow. `truncated` is true if the customer sent more than 16,384 characters of text or 64 KB of other content: the rest is not stored',
    }),
    media: MessageMedia.nullable()
      .default(null)
      .meta({ description: 'File of an inbound message; null if it has none, and in live messages' }),
    status: MessageStatus,
    error: z
      .object({
        code: z.string(),
        message: z.string(),
        providerCode: z.int().nullable(),
        retryable: z.boolean(),
        hint: z.string().nullable().default(null).meta({ description: 'Suggested remedy' }),
      })
      .nullable(),
    sender: z.object({ type: SenderType, id: id.nullable(), name: z.string().nullable() }),
    runId: id.nullable(),
    stepId: z.string().nullable(),
    broadcastId: id.nullable(),
    replyToId: id.nullable(),
    providerMessageId: z.string().nullable(),
    providerAt: timestamp.nullable(),
    sendAt: timestamp.nullable().meta({ description: 'Time that the sender chose for the message' }),
    sentAt: timestamp.nullable(),
    deliveredAt: timestamp.nullable(),
    readAt: timestamp.nullable(),
    failedAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Message' })
/** `media` may be left out. */
export type Message = z.input<typeof Message>

export const ConversationPage = toPage(Conversation)
export const Messages = z
  .object({
    messages: z.array(Message).meta({ description: 'Messages, oldest first' }),
    nextCursor,
  })
  .meta({ description: 'The newest messages, or those before an earlier page' })
export type Messages = z.input<typeof Messages>

export const ConversationRef = z.strictObject({ conversationId: id })
export type ConversationRef = z.infer<typeof ConversationRef>

export const ListConversations = z.strictObject({
  ...page,
  status: ConversationStatus.optional().meta({ description: 'Only conversations with this status' }),
  contactId: id.optional().meta({ description: 'Only conversations with this contact' }),
  channelId: id.optional().meta({ description: 'Only conversations on this channel' }),
  assigneeId: id.optional().meta({ description: 'Only conversations that are assigned to this user' }),
  unread: z
    .boolean()
    .optional()
    .meta({ description: 'Only conversations with unread messages, or only those without' }),
  windowOpen: z
    .boolean()
    .optional()
    .meta({ description: 'Only conversations in which any message may be sent now, or only the others' }),
  sort: z.enum(['-lastMessageAt', 'lastMessageAt']).default('-lastMessageAt').meta({
    description: 'The order of the items; `-` means descending',
  }),
})
export type ListConversations = z.infer<typeof ListConversations>

export const UpdateConversation = z.strictObject({
  conversationId: id,
  status: ConversationStatus.optional(),
  snoozedUntil: timestampInput
    .optional()
    .meta({ description: 'Required with status `snoozed`, not allowed otherwise' }),
  assigneeId: id.nullish(),
  automation: z.strictObject({ state: z.enum(['on', 'paused']), until: timestampInput.optional() }).optional(),
})
export type UpdateConversation = z.infer<typeof UpdateConversation>

export const ListMessages = z.strictObject({
  conversationId: id,
  limit: z
    .int('must be an integer between 1 and 1000')
    .min(1)
    .max(1000)
    .optional()
    .meta({ description: 'The largest number of messages. Fewer are returned when they have more than 4 MB' }),
  cursor: page.cursor.meta({ description: 'The `nextCursor` of a page: continues with older messages' }),
})
export type ListMessages = z.infer<typeof ListMessages>

export const FollowMessages = z.strictObject({ conversationId: id, lastEventId })
export type FollowMessages = z.infer<typeof FollowMessages>
