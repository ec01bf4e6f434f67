import { raw } from 'objection'
import { Run as RunRow } from '../../models/run.ts'
import type { Scope } from '../../scope.ts'
import type { Run } from './schema.ts'

type Row = RunRow & { workflowName: string }

const WORKFLOW_NAME = raw(`(
  select w.name from workflows w where w.tenant_id = runs.tenant_id and w.id = runs.workflow_id) as workflow_name`)

export function runRows(scope: Scope) {
  return scope.query(RunRow).select('runs.*', WORKFLOW_NAME)
}

export function presentRun(row: RunRow): Run {
  const { state, depth: _, trigger, triggerEventId, waitingFor, waitingUntil, waitingStepId, ...run } = row as Row
  return {
    ...run,
    trigger: { type: trigger.type, eventId: triggerEventId, messageId: trigger.messageId },
    variables: (state['variables'] ?? {}) as Record<string, unknown>,
    waiting: waitingFor && waitingStepId ? { for: waitingFor, until: waitingUntil, stepId: waitingStepId } : null,
    durationMs: run.startedAt && run.finishedAt ? run.finishedAt.getTime() - run.startedAt.getTime() : null,
  }
}
