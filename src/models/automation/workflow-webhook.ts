import { TenantModel } from '../tenant-model.ts'

export class WorkflowHook extends TenantModel {
  static override tableName = 'workflow_webhooks'

  declare id: string
  declare workflowId: string
  /** Sealed. Null until the first secret was asked for: until then nobody can call. */
  declare secret: Buffer | null
  declare rotatedAt: Date | null
  declare createdAt: Date
}
