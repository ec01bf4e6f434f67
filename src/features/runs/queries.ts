import { raw } from 'objection'
import { isFinished, type RunState } from '../../engine/model/run.ts'
import { Run as RunRow } from '../../models/automation/run.ts'
import { RunStep as StepRow } from '../../models/automation/run-step.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { redactSecrets } from './redact-secrets.ts'
import type { Run, RunRef, RunStep } from './schema.ts'

/** A run with the columns that are read from other tables. */
export class RunDetails extends RunRow {
  declare workflowName: string
  declare replayCount: number
  declare hasDeliveryFailures: boolean
}

/** Columns of `RunDetails`; the statement binds `:tenantId`. */
export const RUN_COLUMNS = [
  'runs.*',
  `(select w.name from workflows w where w.tenant_id = :tenantId and w.id = runs.workflow_id) as workflow_name`,
  `(select count(*)::int from runs r where r.tenant_id = :tenantId and r.replay_of = runs.id) as replay_count`,
  `exists (select from messages m where m.tenant_id = :tenantId and m.run_id = runs.id and m.status = 'failed')
    as has_delivery_failures`,
]

export function runQuery(scope: Scope) {
  return scope.query(RunDetails).select(RUN_COLUMNS.map((sql) => raw(sql, { tenantId: scope.tenantId })))
}

/** State of a stored run as the engine wrote it. */
export function toRunState({ state }: RunRow): RunState {
  return state as RunState
}

export function toRun(row: RunDetails): Run {
  const { state: _state, depth: _depth, trigger, triggerEventId, waitingFor, waitingUntil, waitingStepId, ...run } = row
  const state = toRunState(row)
  return {
    ...run,
    isDraft: run.isDraft ?? false,
    trigger: { type: trigger.type, eventId: triggerEventId, messageId: trigger.messageId },
    currentStepId: isFinished(run) ? null : (state.stepId ?? null),
    ...redactSecrets(state, run),
    waiting: waitingFor && waitingStepId ? { for: waitingFor, until: waitingUntil, stepId: waitingStepId } : null,
    durationMs: run.startedAt && run.finishedAt ? run.finishedAt.getTime() - run.startedAt.getTime() : null,
  }
}

export async function getRun(scope: Scope, { runId }: RunRef): Promise<Run> {
  const row = isUuid(runId) ? await runQuery(scope).findOne('id', runId) : undefined
  if (!row) throw new NotFoundError('Run')
  return toRun(row)
}

class StepWithDelivery extends StepRow {
  declare delivery: string | null
}

const DELIVERY = raw(`(
  select m.status from messages m where m.tenant_id = run_steps.tenant_id and m.id = run_steps.message_id) as delivery`)

/** Steps of a run in order, each with the current status of its message. */
export function runStepQuery(scope: Scope, runId: string) {
  return scope.query(StepWithDelivery).select('run_steps.*', DELIVERY).where('runId', runId).orderBy('index')
}

export function toRunStep(row: StepWithDelivery): RunStep {
  const { startedAt, finishedAt } = row
  return { ...row, durationMs: finishedAt ? finishedAt.getTime() - startedAt.getTime() : null }
}

export async function listRunSteps(scope: Scope, { runId }: RunRef): Promise<{ steps: RunStep[] }> {
  await scope.get(RunRow, runId)
  return { steps: (await runStepQuery(scope, runId)).map(toRunStep) }
}
