import { TenantModel } from '../tenant-model.ts'

export type TemplateCategory = 'marketing' | 'utility' | 'authentication'

export type TemplateStatus =
  'draft' | 'pending' | 'approved' | 'rejected' | 'paused' | 'disabled' | 'in_appeal' | 'archived' | 'deleted'

export class Template extends TenantModel {
  static override tableName = 'templates'
  static override jsonAttributes = ['components']

  declare id: string
  declare channelId: string
  declare name: string
  declare language: string
  declare category: TemplateCategory
  declare status: TemplateStatus
  /** Text of the BODY component. */
  declare body: string
  /** Components in the shape of the Cloud API, as they were created here or synchronized. */
  declare components: Record<string, unknown>[]
  /** Null if the texts have no variables. */
  declare parameterFormat: 'named' | 'positional' | null
  declare quality: 'green' | 'yellow' | 'red' | null
  declare rejectionReason: string | null
  declare providerTemplateId: string | null
  /** Category that the provider announced for the template, if it differs. */
  declare suggestedCategory: TemplateCategory | null
  /** Time of the last submission, under way while the template is still a draft. */
  declare submittedAt: Date | null
  declare statusReportedAt: Date | null
  declare lastSyncedAt: Date | null
  declare createdAt: Date
  declare updatedAt: Date
}
