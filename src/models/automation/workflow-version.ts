import { TenantModel } from '../tenant-model.ts'

export class WorkflowVersion extends TenantModel {
  static override tableName = 'workflow_versions'
  static override idColumn = ['tenant_id', 'workflow_id', 'version']
  static override jsonAttributes = ['definition', 'compiled']

  declare workflowId: string
  declare version: number
  declare hash: string
  declare definition: Record<string, unknown>
  declare compiled: Record<string, unknown>
  declare note: string | null
  declare publishedBy: string | null
  declare publishedAt: Date
}
