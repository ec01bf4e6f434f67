import { TenantModel } from '../tenant-model.ts'

export class Workflow extends TenantModel {
  static override tableName = 'workflows'
  static override jsonAttributes = ['draft']

  declare id: string
  declare name: string
  declare description: string | null
  declare status: 'draft' | 'published' | 'paused' | 'archived'
  declare draft: Record<string, unknown>
  declare draftRevision: number
  /** Hash of the draft of `draftHashRevision`; null or of another revision if a program that stores none wrote the draft. */
  declare draftHash: string | null
  declare draftHashRevision: number | null
  declare version: number | null
  declare publishedAt: Date | null
  declare createdBy: string | null
  declare createdAt: Date
  declare updatedAt: Date
}
