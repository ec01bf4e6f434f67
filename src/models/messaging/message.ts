import type { InboundContent, OutboundContent } from '../../message-content/content.ts'
import { TenantModel } from '../tenant-model.ts'
import type { TemplateCategory } from './template.ts'

export type MessageStatus =
  'received' | 'scheduled' | 'queued' | 'sending' | 'sent' | 'delivered' | 'read' | 'played' | 'failed' | 'canceled'

export class Message extends TenantModel {
  static override tableName = 'messages'
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
