import { TenantModel } from '../tenant-model.ts'

export class DeadLetter extends TenantModel {
  static override tableName = 'dead_letters'
  static override jsonAttributes = ['payload', 'error']

  declare id: string
  declare mailboxKind: 'conversation' | 'contact' | 'run'
  declare mailboxId: string
  declare kind: string
  declare payload: unknown
  declare contactId: string | null
  declare conversationId: string | null
  declare runId: string | null
  declare workflowId: string | null
  declare error: { name: string; code: string; message: string }
  declare attempts: number
  declare createdAt: Date
  declare failedAt: Date
}
