import type { Problem } from '../../engine/language/definition/problems.ts'
import type { PublishedWorkflow, Subject } from '../../engine/model/subject.ts'
import type { WorkflowTest as TestRow } from '../../models/automation.ts'
import { BudgetExceededError, UnavailableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { WorkflowEvent } from '../../triggers/events.ts'
import { loadKeywordSettings } from '../consent/keyword-settings.ts'
import { parseDialogue } from '../simulations/dialogue.ts'
import { loadSimulatedSubject, toOpening } from '../simulations/load-simulated-subject.ts'
import { loadOtherWorkflows, loadSimulatedWorkflow } from '../simulations/load-simulated-workflow.ts'
import { Dialogue, StartedBy } from '../simulations/schema.ts'
import { listTestsOfWorkflow, toExpectation } from './queries.ts'
import type { RunWorkflowTests, TestOutcome, TestOutcomes } from './schema.ts'
import { workflowTestTask } from './workflow-test-task.ts'

const REAL_MS_MAX = 5000
const SINGLE_MS_MAX = 1000

export async function runWorkflowTests(scope: Scope, input: RunWorkflowTests): Promise<TestOutcomes> {
  const items = await runTests(scope, await loadSimulatedWorkflow(scope, input))
  const count = (status: TestOutcome['status']) => items.filter((item) => item.status === status).length
  return { passed: count('passed'), failed: count('failed'), items }
}

/** Runs the tests of a workflow that is being published. Failed tests are warnings and do not prevent publishing. */
export async function listTestWarnings(
  scope: Scope,
  workflow: PublishedWorkflow,
  realMsMax?: number,
): Promise<Problem[]> {
  const outcomes = await runTests(scope, workflow, realMsMax)
  const warn = (code: string, message: string): Problem => ({ stepId: null, code, message, path: '' })
  const notRun = outcomes.filter(({ status }) => status === 'not_run').length
  return [
    ...outcomes
      .filter(({ status }) => status === 'failed')
      .map(({ name, differences: [first = 'The result differs from the expectation'] }) =>
        warn('test_failed', `Test "${name}" failed. ${first}`),
      ),
    ...(notRun > 0
      ? [warn('tests_not_run', `${notRun} of ${outcomes.length} tests were not run because the others took too long`)]
      : []),
  ]
}

async function tryRun(...test: Parameters<typeof runWorkflowTest>): Promise<TestOutcome | undefined> {
  try {
    return await runWorkflowTest(...test)
  } catch (error) {
    if (error instanceof UnavailableError) return undefined
    throw error
  }
}

/**
 * Runs the tests of a workflow within a time limit. Tests after the limit, and those for which no compute thread is free,
 * are reported as `not_run`.
 */
async function runTests(scope: Scope, workflow: PublishedWorkflow, realMsMax = REAL_MS_MAX): Promise<TestOutcome[]> {
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

/** Simulates one test and compares the result with its expectation. A test that exceeds its budget has failed. */
async function runWorkflowTest(
  scope: Scope,
  { test, workflow, threadMsMax }: { test: TestRow; workflow: PublishedWorkflow; threadMsMax: number },
): Promise<TestOutcome> {
  const { id: testId, name, contact, startsAt, input, stepOutputs } = test
  const subject = await loadSimulatedSubject(scope, { contact, workflow, at: startsAt })
  const request = {
    workflow,
    others: await loadOtherWorkflows(scope, workflow),
    subject,
    now: startsAt,
    trigger: test.trigger === null ? undefined : StartedBy.parse(test.trigger),
    input,
    dialogue: parseDialogue(Dialogue.parse(test.dialogue)),
    opening: listOpeningEvents(test, subject),
    stepOutputs,
    keywords: await loadKeywordSettings(scope),
    threadMsMax,
  }
  const expectation = toExpectation(test)
  const differences = await scope.compute(workflowTestTask, { request, expectation }).catch(toDifferences)
  return { testId, name, status: differences.length > 0 ? 'failed' : 'passed', differences }
}

function toDifferences(error: unknown): string[] {
  if (error instanceof BudgetExceededError) return [error.message]
  throw error
}

/** A saved run records whether its conversation was new, but not whether its contact was. */
function listOpeningEvents({ sourceRunId, opensConversation }: TestRow, subject: Subject): WorkflowEvent[] {
  if (sourceRunId === null) return toOpening(subject)
  return opensConversation ? [{ type: 'conversation_opened' }] : []
}
