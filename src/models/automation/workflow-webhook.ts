import { TenantModel } from '../tenant-model.ts'

export class WorkflowWebhook extends TenantModel {
  static override tableName = 'workflow_webhooks'

  declare id: string
  declare workflowId: string
  /** Sealed. Null until the first secret is created; the webhook cannot be called before. */
  declare secret: Buffer | null
  declare rotatedAt: Date | null
  declare createdAt: Date
}
