import { TenantModel } from './tenant-model.ts'

export class Contact extends TenantModel {
  static override tableName = 'contacts'
  static override jsonAttributes = ['fields']

  declare id: string
  declare name: string
  declare phone: string | null
  declare phoneKey: string | null
  declare email: string | null
  declare username: string | null
  declare language: string | null
  declare country: string | null
  declare timezone: string | null
  declare fields: Record<string, unknown>
  declare marketingConsent: 'unknown' | 'opted_in' | 'opted_out'
  declare consentSource: string | null
  declare consentAt: Date | null
  declare serviceConsent: 'unknown' | 'opted_in' | 'opted_out'
  declare serviceConsentAt: Date | null
  declare blocked: boolean
  declare externalId: string | null
  declare source: 'api' | 'import' | 'inbound' | 'manual' | 'workflow'
  declare lastInboundAt: Date | null
  declare lastOutboundAt: Date | null
  declare pairLimitedUntilMs: number | null
  declare createdAt: Date
  declare updatedAt: Date
}

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

export class Tag extends TenantModel {
  static override tableName = 'tags'

  declare id: string
  declare name: string
  declare color: string
  declare description: string | null
  declare createdAt: Date
  declare updatedAt: Date
}

export class Group extends TenantModel {
  static override tableName = 'groups'

  declare id: string
  declare name: string
  declare description: string | null
  declare createdAt: Date
  declare updatedAt: Date
}
