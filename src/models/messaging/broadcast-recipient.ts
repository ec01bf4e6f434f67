import { TenantModel } from '../tenant-model.ts'

export type RecipientStatus =
  'pending' | 'sending' | 'sent' | 'delivered' | 'read' | 'failed' | 'skipped' | 'canceled' | 'unknown'

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
