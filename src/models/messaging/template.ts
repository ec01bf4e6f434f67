import { TenantModel } from '../tenant-model.ts'

export type TemplateCategory = 'marketing' | 'utility' | 'authentication'

export class Template extends TenantModel {
  static override tableName = 'templates'

  declare id: string
  declare channelId: string
  declare name: string
  declare language: string
  declare category: TemplateCategory
  declare status: 'draft' | 'pending' | 'approved' | 'rejected' | 'paused' | 'disabled'
  declare body: string
  declare createdAt: Date
  declare updatedAt: Date
}
