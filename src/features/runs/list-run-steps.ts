import { Run as RunRow } from '../../models/automation/run.ts'
import type { Scope } from '../../scope.ts'
import { toRunStep, runStepQuery } from './run-step-rows.ts'
import type { RunRef, RunStep } from './schema.ts'

export async function listRunSteps(scope: Scope, { runId }: RunRef): Promise<{ steps: RunStep[] }> {
  await scope.get(RunRow, runId)
  return { steps: (await runStepQuery(scope, runId)).map(toRunStep) }
}
