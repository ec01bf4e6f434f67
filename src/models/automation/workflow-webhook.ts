import { TenantModel } from '../tenant-model.ts'

export class WorkflowWebhook extends TenantModel {
  static override tableName = 'workflow_webhooks'

  declare id: string
  declare workflowId: string
  /** Encrypted secret. Null until one is created: until then every call is rejected. */
  declare secret: Buffer | null
  declare rotatedAt: Date | null
  declare createdAt: Date
}
