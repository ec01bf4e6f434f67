import { setImmediate } from 'node:timers/promises'
import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import type { Scope } from '../../scope.ts'
import { loadSimulatedWorkflow } from '../simulations/load-simulated-workflow.ts'
import { runWorkflowTest } from './run-workflow-test.ts'
import type { RunWorkflowTests, TestOutcome, TestOutcomes } from './schema.ts'
import { listTestsOfWorkflow } from './queries.ts'

const REAL_MS_MAX = 5000
const ONE_MS_MAX = 1000

export async function runWorkflowTests(scope: Scope, input: RunWorkflowTests): Promise<TestOutcomes> {
  const items = await runTests(scope, await loadSimulatedWorkflow(scope, input))
  const count = (status: TestOutcome['status']) => items.filter((item) => item.status === status).length
  return { passed: count('passed'), failed: count('failed'), items }
}

/** Plays all tests of a workflow, as many as time allows: those that are left over are told as not run. */
export async function runTests(
  scope: Scope,
  subject: PublishedWorkflow,
  realMsMax = REAL_MS_MAX,
): Promise<TestOutcome[]> {
  const deadline = performance.now() + realMsMax
  const outcomes: TestOutcome[] = []
  for (const test of await listTestsOfWorkflow(scope, subject.workflowId)) {
    const left = deadline - performance.now()
    const notRun = { testId: test.id, name: test.name, status: 'not_run' as const, differences: [] }
    const play = { test, subject, realMsMax: Math.min(left, ONE_MS_MAX) }
    outcomes.push(left > 0 ? await runWorkflowTest(scope, play) : notRun)
    // Between two tests others get their turn.
    await setImmediate()
  }
  return outcomes
}
