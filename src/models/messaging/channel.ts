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
  /** What a provider's adapter needs and may be shown. */
  declare settings: Record<string, unknown>
  /** What it needs and may not: sealed, never leaves the process. */
  declare credentials: Buffer | null
  declare createdAt: Date
  declare updatedAt: Date
}
