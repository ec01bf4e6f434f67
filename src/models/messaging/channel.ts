import { TenantModel } from '../tenant-model.ts'

export class Channel extends TenantModel {
  static override tableName = 'channels'
  static override jsonAttributes = ['settings']

  declare id: string
  declare kind: 'sandbox' | 'whatsapp'
  declare name: string
  declare status: 'connected' | 'degraded' | 'disconnected'
  declare statusReason: string | null
  declare phoneNumber: string | null
  /** Messages of broadcasts per second. */
  declare broadcastsPerSecond: number
  /** People to whom the business may write first within 24 hours; null if there is no limit. */
  declare messagingLimit: number | null
  /** Settings of the adapter that the API may return. */
  declare settings: Record<string, unknown>
  /** Encrypted credentials of the adapter, never returned. */
  declare credentials: Buffer | null
  declare createdAt: Date
  declare updatedAt: Date
}
