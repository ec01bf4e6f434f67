import { TenantModel } from '../tenant-model.ts'

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
