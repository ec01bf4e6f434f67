import { TenantModel } from '../tenant-model.ts'

export class Broadcast extends TenantModel {
  static override tableName = 'broadcasts'
  static override jsonAttributes = ['params', 'audience', 'counts']

  declare id: string
  declare name: string
  declare description: string | null
  declare status: 'draft' | 'scheduled' | 'preparing' | 'sending' | 'paused' | 'completed' | 'canceled' | 'failed'
  declare channelId: string
  declare templateId: string
  declare params: Record<string, unknown>
  declare audience: Record<string, unknown>
  declare counts: Record<string, number>
  declare scheduledAt: Date | null
  declare startedAt: Date | null
  declare completedAt: Date | null
  declare createdBy: string | null
  declare createdAt: Date
  declare updatedAt: Date
}
