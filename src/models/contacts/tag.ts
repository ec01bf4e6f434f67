import { TenantModel } from '../tenant-model.ts'

export class Tag extends TenantModel {
  static override tableName = 'tags'

  declare id: string
  declare name: string
  declare color: string
  declare description: string | null
  declare createdAt: Date
  declare updatedAt: Date
}
