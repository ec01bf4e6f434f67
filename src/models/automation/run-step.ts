import { TenantModel } from '../tenant-model.ts'

export class RunStep extends TenantModel {
  static override tableName = 'run_steps'
  static override idColumn = ['tenant_id', 'run_id', 'index']
  static override jsonAttributes = ['input', 'output', 'error']

  declare id: string
  declare runId: string
  declare index: number
  declare stepId: string
  declare name: string | null
  declare type: string
  declare path: string
  declare iteration: number
  declare attempt: number
  declare status: 'running' | 'waiting' | 'completed' | 'failed' | 'skipped' | 'canceled'
  declare input: unknown
  declare output: unknown
  declare error: { code: string; message: string } | null
  declare branch: string | null
  declare reusedFromId: string | null
  declare simulated: boolean
  declare messageId: string | null
  declare waitingUntil: Date | null
  declare startedAt: Date
  declare finishedAt: Date | null
}
