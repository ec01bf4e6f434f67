import { TenantModel } from '../tenant-model.ts'

/** HTTP request of a custom tool. */
export type ToolConfig = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
  headers?: Record<string, string> | undefined
  /** The credential that calls carry. */
  credentialId?: string | undefined
}

export class Tool extends TenantModel {
  static override tableName = 'tools'
  static override jsonAttributes = ['inputSchema', 'outputSchema', 'config']

  declare id: string
  declare name: string
  declare title: string
  declare description: string
  declare inputSchema: Record<string, unknown>
  declare outputSchema: Record<string, unknown>
  declare effect: 'read' | 'write' | 'external_send'
  declare config: ToolConfig
  /** Encrypted values of the headers, never returned. */
  declare sealedHeaders: Buffer | null
  declare enabled: boolean
  declare createdAt: Date
  declare updatedAt: Date
}
