import { TenantModel } from '../tenant-model.ts'

export class Group extends TenantModel {
  static override tableName = 'groups'

  declare id: string
  declare name: string
  declare description: string | null
  declare createdAt: Date
  declare updatedAt: Date
}
