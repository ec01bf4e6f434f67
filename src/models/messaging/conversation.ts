import { TenantModel } from '../tenant-model.ts'

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
