import { TenantModel } from '../tenant-model.ts'

export class AiProvider extends TenantModel {
  static override tableName = 'ai_providers'

  declare id: string
  declare baseUrl: string
  declare model: string
  /** Sealed, never leaves the process; null for a provider without authentication. */
  declare sealedKey: Buffer | null
  declare createdAt: Date
  declare updatedAt: Date
}
