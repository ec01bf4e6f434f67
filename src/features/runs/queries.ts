import { raw } from 'objection'
import { isFinished, type RunState } from '../../engine/model/run.ts'
import { Run as RunRow, RunStep as StepRow } from '../../models/automation.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isOfNoDeletedContactSql } from '../../scope/deleted-contacts.ts'
import type { Scope } from '../../scope/scope.ts'
import { type ItemSource, readItem } from '../paging/read-items.ts'
import { redactSecrets } from './redact-secrets.ts'
import type { Run, RunRef, RunStep } from './schema.ts'

/** A run with the columns that are read from other tables. */
export type RunDetails = RunRow & Pick<Run, 'workflowName' | 'replayCount' | 'hasDeliveryFailures'>

/** Source of `RunDetails`. */
export const RUN_SOURCE: ItemSource = {
  table: sqlFragment`runs`,
  columns: (tenantId) => sqlFragment`runs.*,
    (select w.name from workflows w where w.tenant_id = ${tenantId} and w.id = runs.workflow_id) as workflow_name,
    (select count(*)::int from runs r where r.tenant_id = ${tenantId} and r.replay_of = runs.id) as replay_count,
    exists (select from messages m where m.tenant_id = ${tenantId} and m.run_id = runs.id and m.status = 'failed')
      as has_delivery_failures`,
  isShown: (tenantId) => isOfNoDeletedContactSql(tenantId, 'runs'),
}

/** Returns undefined for an unknown run. */
export function findRun(scope: Scope, runId: string): Promise<RunDetails | undefined> {
  return readItem<RunDetails>(scope, 'getRun', RUN_SOURCE, runId)
}

/** State of a stored run as the engine wrote it. */
export function toRunState({ state }: RunRow): RunState {
  return state as RunState
}

export function toRun(row: RunDetails): Run {
  const { state: _state, depth: _depth, trigger, triggerEventId, isDraft, stepsCount, messagesSent, ...shown } = row
  const { waitingFor, waitingUntil, waitingStepId, ...run } = shown
  const state = toRunState(row)
  return {
    ...run,
    draft: isDraft ?? false,
    stepCount: stepsCount,
    sentMessageCount: messagesSent,
    trigger: { type: trigger.type, eventId: triggerEventId, messageId: trigger.messageId },
    currentStepId: isFinished(run) ? null : (state.stepId ?? null),
    ...redactSecrets(state, run),
    waiting: waitingFor && waitingStepId ? { for: waitingFor, until: waitingUntil, stepId: waitingStepId } : null,
    durationMs: run.startedAt && run.finishedAt ? run.finishedAt.getTime() - run.startedAt.getTime() : null,
  }
}

/** @throws NotFoundError */
export async function getRun(scope: Scope, { runId }: RunRef): Promise<Run> {
  const row = await findRun(scope, runId)
  if (!row) throw new NotFoundError('Run')
  return toRun(row)
}

class StepWithDelivery extends StepRow {
  declare delivery: string | null
}

function delivery(tenantId: string) {
  return raw(`(select m.status from messages m where m.tenant_id = ? and m.id = run_steps.message_id) as delivery`, [
    tenantId,
  ])
}

/** Steps of a run in order, each with the current status of its message. */
export function runStepQuery(scope: Scope, runId: string) {
  return scope
    .query(StepWithDelivery)
    .select('run_steps.*', delivery(scope.tenantId))
    .where('runId', runId)
    .orderBy('index')
}

export function toRunStep(row: StepWithDelivery): RunStep {
  const { startedAt, finishedAt } = row
  return { ...row, durationMs: finishedAt ? finishedAt.getTime() - startedAt.getTime() : null }
}

export async function listRunSteps(scope: Scope, { runId }: RunRef): Promise<{ steps: RunStep[] }> {
  await scope.get(RunRow, runId)
  return { steps: (await runStepQuery(scope, runId)).map(toRunStep) }
}
