import { TenantModel } from '../tenant-model.ts'

export class AiProvider extends TenantModel {
  static override tableName = 'ai_providers'

  declare id: string
  declare baseUrl: string
  declare model: string
  /** Encrypted API key, never returned. Null for a provider that needs none. */
  declare sealedKey: Buffer | null
  declare createdAt: Date
  declare updatedAt: Date
}
