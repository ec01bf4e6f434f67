import { raw } from 'objection'
import { Run as RunRow } from '../../models/run.ts'
import { RunStep as StepRow } from '../../models/run-step.ts'
import type { Scope } from '../../scope.ts'
import type { RunRef, RunStep } from './schema.ts'

const DELIVERY = raw(`(
  select m.status from messages m where m.tenant_id = run_steps.tenant_id and m.id = run_steps.message_id) as delivery`)

export async function listRunSteps(scope: Scope, { runId }: RunRef): Promise<{ steps: RunStep[] }> {
  await scope.get(RunRow, runId)
  const rows = (await scope
    .query(StepRow)
    .select('run_steps.*', DELIVERY)
    .where('runId', runId)
    .orderBy('index')) as (StepRow & { delivery: string | null })[]
  return {
    steps: rows.map((row) => ({
      ...row,
      durationMs: row.finishedAt ? row.finishedAt.getTime() - row.startedAt.getTime() : null,
    })),
  }
}
