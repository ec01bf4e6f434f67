import { TenantModel } from '../tenant-model.ts'

export class ContactIdentity extends TenantModel {
  static override tableName = 'contact_identities'

  declare id: string
  declare contactId: string
  declare channelId: string
  declare kind: 'phone' | 'bsuid' | 'parent_bsuid'
  declare value: string
  declare createdAt: Date
}
