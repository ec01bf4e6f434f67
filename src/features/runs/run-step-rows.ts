import { raw } from 'objection'
import { RunStep as StepRow } from '../../models/automation/run-step.ts'
import type { Scope } from '../../scope.ts'
import type { RunStep } from './schema.ts'

type Row = StepRow & { delivery: string | null }

const DELIVERY = raw(`(
  select m.status from messages m where m.tenant_id = run_steps.tenant_id and m.id = run_steps.message_id) as delivery`)

/** The steps of a run, in their order, each with where its message stands now. */
export function runStepQuery(scope: Scope, runId: string) {
  return scope.query(StepRow).select('run_steps.*', DELIVERY).where('runId', runId).orderBy('index')
}

export function toRunStep(row: StepRow): RunStep {
  const { startedAt, finishedAt } = row
  return { ...(row as Row), durationMs: finishedAt ? finishedAt.getTime() - startedAt.getTime() : null }
}
