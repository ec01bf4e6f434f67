import { TenantModel } from '../tenant-model.ts'

export class ConsentEntry extends TenantModel {
  static override tableName = 'consent_entries'
  static override jsonAttributes = ['actor']

  declare id: string
  declare contactId: string
  declare purpose: 'marketing' | 'service'
  declare state: 'unknown' | 'opted_in' | 'opted_out'
  declare source: 'api' | 'keyword' | 'import' | 'workflow' | 'provider' | 'manual'
  declare actor: { type: string; id: string | null; name: string | null }
  declare text: string | null
  declare keyword: string | null
  declare channelId: string | null
  declare messageId: string | null
  declare createdAt: Date
}
