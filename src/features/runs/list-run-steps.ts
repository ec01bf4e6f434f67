import { Run as RunRow } from '../../models/automation/run.ts'
import type { Scope } from '../../scope.ts'
import { presentRunStep, runStepRows } from './run-step-rows.ts'
import type { RunRef, RunStep } from './schema.ts'

export async function listRunSteps(scope: Scope, { runId }: RunRef): Promise<{ steps: RunStep[] }> {
  await scope.get(RunRow, runId)
  return { steps: (await runStepRows(scope, runId)).map(presentRunStep) }
}
