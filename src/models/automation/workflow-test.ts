import { TenantModel } from '../tenant-model.ts'

export class WorkflowTest extends TenantModel {
  static override tableName = 'workflow_tests'
  static override jsonAttributes = ['trigger', 'input', 'dialogue', 'stepOutputs', 'contact', 'expectation']

  declare id: string
  declare workflowId: string
  declare name: string
  declare trigger: Record<string, unknown> | null
  declare input: unknown
  declare dialogue: unknown[]
  declare stepOutputs: Record<string, unknown>
  declare contact: Record<string, unknown> | null
  declare startsAt: Date
  declare opensConversation: boolean
  declare expectation: Record<string, unknown>
  declare sourceRunId: string | null
  declare createdBy: string | null
  declare createdAt: Date
  declare updatedAt: Date
}
