import type { InboundContent, OutboundContent } from '../message-content/content.ts'
import { TenantModel } from './tenant-model.ts'

export type MessageStatus =
  'received' | 'scheduled' | 'queued' | 'sending' | 'sent' | 'delivered' | 'read' | 'played' | 'failed' | 'canceled'

export type TemplateCategory = 'marketing' | 'utility' | 'authentication'

export type TemplateStatus =
  'draft' | 'pending' | 'approved' | 'rejected' | 'paused' | 'disabled' | 'in_appeal' | 'archived' | 'deleted'

export class Channel extends TenantModel {
  static override tableName = 'channels'
  static override jsonAttributes = ['settings', 'lastAlert']

  declare id: string
  declare kind: 'sandbox' | 'whatsapp'
  declare name: string
  declare status: 'connected' | 'degraded' | 'disconnected'
  declare statusReason: string | null
  declare phoneNumber: string | null
  /** Messages of broadcasts per second. */
  declare broadcastsPerSecond: number
  /** Settings of the adapter that the API may return. */
  declare settings: Record<string, unknown>
  /** Encrypted credentials of the adapter, never returned. */
  declare credentials: Buffer | null
  declare quality: 'green' | 'yellow' | 'red' | 'unknown' | null
  /** Contacts per day that may be written to first: digits, or `unlimited`. */
  declare messagingLimit: string | null
  /** Messages per second. */
  declare throughput: number | null
  declare lastAlert: { code: string; message: string; severity: 'info' | 'warning' | 'critical'; at: string } | null
  /** Nothing is sent before this time. */
  declare pausedUntil: Date | null
  declare createdAt: Date
  declare updatedAt: Date
}

export class ChannelWebhook extends TenantModel {
  static override tableName = 'channel_webhooks'
  static override jsonAttributes = ['outcome', 'error']

  declare id: string
  declare channelId: string
  declare body: Buffer
  declare status: 'processed' | 'pending' | 'failed' | 'rejected'
  /** Counts of the parts and names of what is unknown; null if the body could not be parsed. */
  declare outcome: { counts: Record<string, number>; unknown: string[] } | null
  declare error: { name: string; code: string; message: string } | null
  declare attempts: number
  /** Time of the next attempt. */
  declare dueAt: Date | null
  declare createdAt: Date
}

export class Conversation extends TenantModel {
  static override tableName = 'conversations'
  static override jsonAttributes = ['lastMessage']

  declare id: string
  declare contactId: string
  declare channelId: string
  declare status: 'active' | 'snoozed' | 'closed'
  declare assigneeId: string | null
  declare unreadCount: number
  declare lastMessage: {
    id: string
    body: string | null
    direction: 'inbound' | 'outbound'
    type: string
    at: string
  } | null
  declare lastMessageAt: Date | null
  declare lastInboundAt: Date | null
  declare windowExpiresAt: Date | null
  declare automationState: 'on' | 'paused'
  declare automationReason: 'human_reply' | 'handoff' | 'manual' | 'opt_out' | null
  declare automationUntil: Date | null
  /** Text of the last handoff; it applies while `automationReason` is `handoff`. */
  declare handoffReason: string | null
  declare snoozedUntil: Date | null
  declare closedAt: Date | null
  declare reopenCount: number
  declare createdAt: Date
  declare updatedAt: Date
}

export class Message extends TenantModel {
  static override tableName = 'messages'
  static override outlivesContact = true
  static override jsonAttributes = ['content', 'error', 'sender']

  declare id: string
  declare conversationId: string
  declare contactId: string
  declare channelId: string
  declare direction: 'inbound' | 'outbound' | 'internal'
  declare type: string
  declare body: string | null
  declare content: OutboundContent | InboundContent | null
  declare status: MessageStatus
  declare error: {
    code: string
    message: string
    providerCode: number | null
    retryable: boolean
    hint: string | null
  } | null
  declare sender: { type: string; id: string | null; name: string | null }
  /** Category of the template it was made from; null for any other message. */
  declare category: TemplateCategory | null
  declare runId: string | null
  declare stepId: string | null
  declare broadcastId: string | null
  /** Recipient of the broadcast. */
  declare recipientId: string | null
  declare replyToId: string | null
  declare providerMessageId: string | null
  declare providerAt: Date | null
  /** Time that the sender chose for the message; null for one that is sent at once. */
  declare sendAt: Date | null
  /** The same while it is scheduled: an index by status would make every change of a status write to all indexes. */
  declare releaseAt: Date | null
  declare sentAt: Date | null
  declare deliveredAt: Date | null
  declare readAt: Date | null
  declare failedAt: Date | null
  declare createdAt: Date
  declare updatedAt: Date
}

export class Media extends TenantModel {
  static override tableName = 'media'

  declare id: string
  declare sha256: string
  declare mimeType: string
  declare bytes: number
  declare filename: string | null
  /** For a WebP file; null if that is unknown. */
  declare isAnimated: boolean | null
  declare createdAt: Date
}

export class Template extends TenantModel {
  static override tableName = 'templates'
  static override jsonAttributes = ['components']

  declare id: string
  declare channelId: string
  declare name: string
  declare language: string
  declare category: TemplateCategory
  declare status: TemplateStatus
  /** Text of the BODY component. */
  declare body: string
  /** Components in the shape of the Cloud API, as they were created here or synchronized. */
  declare components: Record<string, unknown>[]
  /** Null if the texts have no variables. */
  declare parameterFormat: 'named' | 'positional' | null
  declare quality: 'green' | 'yellow' | 'red' | null
  declare rejectionReason: string | null
  declare providerTemplateId: string | null
  /** Category that the provider announced for the template, if it differs. */
  declare suggestedCategory: TemplateCategory | null
  /** Time of the last submission, under way while the template is still a draft. */
  declare submittedAt: Date | null
  declare statusReportedAt: Date | null
  declare lastSyncedAt: Date | null
  declare createdAt: Date
  declare updatedAt: Date
}
