import { TenantModel } from '../tenant-model.ts'

export class Run extends TenantModel {
  static override tableName = 'runs'
  static override jsonAttributes = ['trigger', 'state', 'input', 'output', 'error', 'startedBy']

  declare id: string
  declare workflowId: string
  declare workflowVersion: number
  declare isDraft: boolean | null
  declare contactId: string | null
  declare conversationId: string | null
  declare depth: number
  declare parentRunId: string | null
  declare mailboxRunId: string | null
  declare status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'canceled' | 'expired'
  declare mode: 'live' | 'dry_run'
  declare trigger: { type: string; messageId: string | null } & Record<string, unknown>
  declare triggerEventId: string
  declare state: Record<string, unknown>
  declare input: unknown
  declare output: unknown
  declare error: { code: string; message: string; stepId: string | null } | null
  declare epoch: number
  declare stepsCount: number
  declare messagesSent: number
  declare waitingFor: 'reply' | 'timer' | 'event' | 'result' | null
  declare waitingUntil: Date | null
  declare waitingStepId: string | null
  declare replayOf: string | null
  declare rootRunId: string
  declare replayFromStepId: string | null
  declare startedBy: { type: string; id: string | null }
  declare queuedAt: Date
  declare startedAt: Date | null
  declare finishedAt: Date | null
  declare createdAt: Date
}
