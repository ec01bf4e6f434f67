import { raw } from 'objection'
import { isFinished, type RunState } from '../../engine/model/run.ts'
import { Run as RunRow } from '../../models/automation/run.ts'
import type { Scope } from '../../scope.ts'
import { redactSecrets } from './redact-secrets.ts'
import type { Run, RunRef, ListRuns, RunStep } from './schema.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Page } from '../../trpc/schemas.ts'
import { countRuns } from './count-runs.ts'
import { pageRuns } from './page-runs.ts'
import { isImpossible } from './run-filters.ts'
import { RunStep as StepRow } from '../../models/automation/run-step.ts'

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

export async function getRun(scope: Scope, { runId }: RunRef): Promise<Run> {
  const row = isUuid(runId) ? await runQuery(scope).findOne('id', runId) : undefined
  if (!row) throw new NotFoundError('Run')
  return toRun(row)
}

export async function listRuns(scope: Scope, { limit, offset, ...filters }: ListRuns): Promise<Page<Run>> {
  if (isImpossible(filters)) return { items: [], total: 0 }
  const [total, ids] = await Promise.all([countRuns(scope, filters), pageRuns(scope, filters, { limit, offset })])
  const rows = ids.length === 0 ? [] : await runQuery(scope).whereIn('id', ids)
  rows.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
  return { items: rows.map(toRun), total }
}

type StepWithDelivery = StepRow & { delivery: string | null }

const DELIVERY = raw(`(
  select m.status from messages m where m.tenant_id = run_steps.tenant_id and m.id = run_steps.message_id) as delivery`)

/** The steps of a run, in their order, each with where its message stands now. */
export function runStepQuery(scope: Scope, runId: string) {
  return scope.query(StepRow).select('run_steps.*', DELIVERY).where('runId', runId).orderBy('index')
}

export function toRunStep(row: StepRow): RunStep {
  const { startedAt, finishedAt } = row
  return { ...(row as StepWithDelivery), durationMs: finishedAt ? finishedAt.getTime() - startedAt.getTime() : null }
}

export async function listRunSteps(scope: Scope, { runId }: RunRef): Promise<{ steps: RunStep[] }> {
  await scope.get(RunRow, runId)
  return { steps: (await runStepQuery(scope, runId)).map(toRunStep) }
}
