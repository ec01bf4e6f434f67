import { TenantModel } from '../tenant-model.ts'

export class BroadcastRecipient extends TenantModel {
  static override tableName = 'broadcast_recipients'
  static override jsonAttributes = ['error', 'params']

  declare id: string
  declare broadcastId: string
  declare contactId: string
  declare address: string
  declare status: 'pending' | 'sending' | 'sent' | 'delivered' | 'read' | 'failed' | 'skipped' | 'canceled' | 'unknown'
  declare skipReason: string | null
  declare error: Record<string, unknown> | null
  declare params: Record<string, unknown>
  declare attempt: number
  declare sentAt: Date | null
  declare deliveredAt: Date | null
  declare readAt: Date | null
  declare failedAt: Date | null
  declare createdAt: Date
  declare updatedAt: Date
}
