import { CreatedModel, TenantModel } from './tenant-model.ts'

export type BroadcastStatus =
  'draft' | 'scheduled' | 'preparing' | 'sending' | 'paused' | 'completed' | 'canceled' | 'failed'

export type RecipientStatus =
  'pending' | 'sending' | 'sent' | 'delivered' | 'read' | 'failed' | 'skipped' | 'canceled' | 'unknown'

export class Broadcast extends CreatedModel {
  static override tableName = 'broadcasts'
  static override jsonAttributes = ['params', 'audience', 'schedule', 'frequencyCap', 'snapshotCursor', 'resumedCounts']

  declare id: string
  declare name: string
  declare description: string | null
  declare status: BroadcastStatus
  /** The reason why it is paused or has failed. */
  declare statusReason: string | null
  declare channelId: string
  declare templateId: string
  declare params: Record<string, string>
  declare audience: Record<string, unknown>
  declare schedule: Record<string, unknown> | null
  declare frequencyCap: { max: number; hours: number } | null
  declare requiresOptIn: boolean
  declare scheduledAt: Date | null
  declare startedAt: Date | null
  declare completedAt: Date | null
  /** Position of the next portion of the snapshot. */
  declare snapshotCursor: { source: number; after: string | null } | null
  declare snapshotAt: Date | null
  declare snapshotHash: string | null
  /** Counts when it was last started or resumed. */
  declare resumedCounts: Record<string, number> | null
  /** Time from which a worker has something to do. */
  declare workAt: Date | null
  declare createdAt: Date
  declare updatedAt: Date
}

export class BroadcastRecipient extends TenantModel {
  static override tableName = 'broadcast_recipients'
  static override jsonAttributes = ['error', 'params']

  declare id: string
  declare broadcastId: string
  declare contactId: string
  /** Null if the contact has none on the channel, or has been deleted. */
  declare address: string | null
  /** Address that the message was sent to, if it is not that of the snapshot. */
  declare sentTo: string | null
  /** Hash of the address that the message was sent to, if the contact has been deleted. */
  declare sentHash: Buffer | null
  declare status: RecipientStatus
  declare skipReason: string | null
  declare error: Record<string, unknown> | null
  declare params: Record<string, string>
  declare attempt: number
  declare messageId: string | null
  declare providerMessageId: string | null
  declare acceptedCount: number
  declare digest: Buffer | null
  declare timezone: string | null
  declare dueAt: Date
  declare sentAt: Date | null
  declare deliveredAt: Date | null
  declare readAt: Date | null
  declare failedAt: Date | null
  declare repliedAt: Date | null
  declare optedOutAt: Date | null
  declare doubtedAt: Date | null
  declare doubtSettledAt: Date | null
  declare doubtSettledBy: 'provider' | 'member' | null
  declare createdAt: Date
  declare updatedAt: Date
}
