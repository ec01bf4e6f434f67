import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import { UnavailableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadSimulatedWorkflow } from '../simulations/load-simulated-workflow.ts'
import { runWorkflowTest } from './run-workflow-test.ts'
import type { RunWorkflowTests, TestOutcome, TestOutcomes } from './schema.ts'
import { listTestsOfWorkflow } from './queries.ts'

const REAL_MS_MAX = 5000
const SINGLE_MS_MAX = 1000

export async function runWorkflowTests(scope: Scope, input: RunWorkflowTests): Promise<TestOutcomes> {
  const items = await runTests(scope, await loadSimulatedWorkflow(scope, input))
  const count = (status: TestOutcome['status']) => items.filter((item) => item.status === status).length
  return { passed: count('passed'), failed: count('failed'), items }
}

/**
 * Runs the tests of a workflow within a time limit. Tests after the limit, and those for which no compute thread is free,
 * are reported as `not_run`.
 */
export async function runTests(
  scope: Scope,
  workflow: PublishedWorkflow,
  realMsMax = REAL_MS_MAX,
): Promise<TestOutcome[]> {
  const deadline = performance.now() + realMsMax
  const outcomes: TestOutcome[] = []
  for (const test of await listTestsOfWorkflow(scope, workflow.workflowId)) {
    const remainingMs = deadline - performance.now()
    const notRun = { testId: test.id, name: test.name, status: 'not_run' as const, differences: [] }
    const options = { test, workflow, threadMsMax: Math.min(remainingMs, SINGLE_MS_MAX) }
    outcomes.push(remainingMs > 0 ? ((await tryRun(scope, options)) ?? notRun) : notRun)
  }
  return outcomes
}

async function tryRun(...test: Parameters<typeof runWorkflowTest>): Promise<TestOutcome | undefined> {
  try {
    return await runWorkflowTest(...test)
  } catch (error) {
    if (error instanceof UnavailableError) return undefined
    throw error
  }
}
