import { TenantModel } from '../tenant-model.ts'

export class GroupContact extends TenantModel {
  static override tableName = 'group_contacts'
  static override idColumn = ['tenant_id', 'group_id', 'contact_id']

  declare groupId: string
  declare contactId: string
  declare createdAt: Date
}
