import { raw } from 'objection'
import { isFinished, type RunState } from '../../engine/model/run.ts'
import { Run as RunRow } from '../../models/automation/run.ts'
import type { Scope } from '../../scope.ts'
import { redactSecrets } from './redact-secrets.ts'
import type { Run } from './schema.ts'

type Row = RunRow & { workflowName: string; replayCount: number; hasDeliveryFailures: boolean }

const WORKFLOW_NAME = raw(`(
  select w.name from workflows w where w.tenant_id = runs.tenant_id and w.id = runs.workflow_id) as workflow_name`)

const REPLAY_COUNT = raw(`(
  select count(*)::int from runs r where r.tenant_id = runs.tenant_id and r.replay_of = runs.id) as replay_count`)

const HAS_DELIVERY_FAILURES = raw(`exists (
  select from messages m where m.tenant_id = runs.tenant_id and m.run_id = runs.id and m.status = 'failed')
  as has_delivery_failures`)

export function runQuery(scope: Scope) {
  return scope.query(RunRow).select('runs.*', WORKFLOW_NAME, REPLAY_COUNT, HAS_DELIVERY_FAILURES)
}

export function toRun(row: RunRow): Run {
  const { state, depth: _, trigger, triggerEventId, waitingFor, waitingUntil, waitingStepId, ...run } = row as Row
  return {
    ...run,
    isDraft: run.isDraft ?? false,
    trigger: { type: trigger.type, eventId: triggerEventId, messageId: trigger.messageId },
    currentStepId: isFinished(run) ? null : ((state['stepId'] ?? null) as string | null),
    ...redactSecrets(state as RunState, run),
    waiting: waitingFor && waitingStepId ? { for: waitingFor, until: waitingUntil, stepId: waitingStepId } : null,
    durationMs: run.startedAt && run.finishedAt ? run.finishedAt.getTime() - run.startedAt.getTime() : null,
  }
}
