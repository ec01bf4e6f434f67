import { TenantModel } from './tenant-model.ts'

export class ContactTag extends TenantModel {
  static override tableName = 'contact_tags'
  static override idColumn = ['tenant_id', 'contact_id', 'tag_id']

  declare contactId: string
  declare tagId: string
  declare createdAt: Date
}
