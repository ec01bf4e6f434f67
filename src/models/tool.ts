import { TenantModel } from './tenant-model.ts'

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
  declare config: Record<string, unknown>
  declare enabled: boolean
  declare createdAt: Date
  declare updatedAt: Date
}
