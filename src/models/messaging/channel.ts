import { TenantModel } from '../tenant-model.ts'

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
