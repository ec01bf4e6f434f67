import { TenantModel } from '../tenant-model.ts'

export type BroadcastStatus =
  'draft' | 'scheduled' | 'preparing' | 'sending' | 'paused' | 'completed' | 'canceled' | 'failed'

export class Broadcast extends TenantModel {
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
  declare createdBy: string | null
  declare createdAt: Date
  declare updatedAt: Date
}
