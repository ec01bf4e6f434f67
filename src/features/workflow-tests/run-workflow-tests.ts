import type { Problem } from '../../engine/language/definition/problems.ts'
import type { PublishedWorkflow, Subject } from '../../engine/model/subject.ts'
import { Workflow as WorkflowRow } from '../../models/automation.ts'
import { BudgetExceededError, UnavailableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { WorkflowEvent } from '../../triggers/events.ts'
import { loadKeywordSettings } from '../consent/keyword-settings.ts'
import { checkInWorkspace } from '../definition-checks/check-in-workspace.ts'
import { parseDialogue } from '../simulations/dialogue.ts'
import { loadSimulatedSubject, toOpening } from '../simulations/load-simulated-subject.ts'
import { loadOtherWorkflows, loadSimulatedWorkflow } from '../simulations/load-simulated-workflow.ts'
import { UNPUBLISHED } from '../simulations/run-simulation.ts'
import { Dialogue, StartedBy } from '../simulations/schema.ts'
import { withResources } from '../templates/load-resources.ts'
import { assertTestStorable, type TestContent, toTestContent } from './changes.ts'
import { listTestsOfWorkflow, toExpectation } from './queries.ts'
import type { DefinitionOutcomes, RunWorkflowTests, TestDefinition, TestOutcome, TestOutcomes } from './schema.ts'
import { workflowTestTask } from './workflow-test-task.ts'

const REAL_MS_MAX = 5000
const SINGLE_MS_MAX = 1000

/** Workflow of a definition that belongs to none. */
const SAMPLE_WORKFLOW = { id: '00000000-0000-7000-8000-000000000004', name: 'Definition' }

type Outcome = Omit<TestOutcome, 'testId'>

export async function runWorkflowTests(scope: Scope, input: RunWorkflowTests): Promise<TestOutcomes> {
  const workflow = await loadSimulatedWorkflow(scope, input)
  const outcomes = await runTests(scope, workflow, await listTestsOfWorkflow(scope, workflow.workflowId))
  return countOutcomes(outcomes.map(({ test, outcome }) => ({ testId: test.id, ...outcome })))
}

/**
 * Runs tests on the definition of a request, with the checks of publishing and of creating tests. Stores nothing.
 * @throws NotFoundError for an unknown workflow
 * @throws UnprocessableError `literal_secret`, `test_too_large`
 */
export async function testDefinition(
  scope: Scope,
  { definition, workflowId, tests }: TestDefinition,
): Promise<DefinitionOutcomes> {
  const { id, name } = workflowId === undefined ? SAMPLE_WORKFLOW : await scope.get(WorkflowRow, workflowId)
  const contents = tests?.map((test) => toTestContent(scope, test)) ?? (await listTestsOfWorkflow(scope, id))
  if (tests) contents.forEach((content, index) => assertTestStorable(content, `tests.${index}.`))
  const { compiled, errors } = await checkInWorkspace(scope, definition, workflowId ?? null)
  if (!compiled) return { ...countOutcomes(contents.map(toNotRun)), problems: errors }
  const workflow = { workflowId: id, name, version: UNPUBLISHED, compiled }
  const [loaded = workflow] = await withResources(scope, [workflow])
  const outcomes = await runTests(scope, loaded, contents)
  return { ...countOutcomes(outcomes.map(({ outcome }) => outcome)), problems: [] }
}

function countOutcomes<T extends Outcome>(items: T[]): { passed: number; failed: number; items: T[] } {
  const count = (status: Outcome['status']) => items.filter((item) => item.status === status).length
  return { passed: count('passed'), failed: count('failed'), items }
}

/** Runs the tests of a workflow that is being published. Failed tests are warnings and do not prevent publishing. */
export async function listTestWarnings(
  scope: Scope,
  workflow: PublishedWorkflow,
  realMsMax?: number,
): Promise<Problem[]> {
  const tests = await listTestsOfWorkflow(scope, workflow.workflowId)
  const outcomes = (await runTests(scope, workflow, tests, realMsMax)).map(({ outcome }) => outcome)
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

async function tryRun(...test: Parameters<typeof runWorkflowTest>): Promise<Outcome | undefined> {
  try {
    return await runWorkflowTest(...test)
  } catch (error) {
    if (error instanceof UnavailableError) return undefined
    throw error
  }
}

/**
 * Runs tests of a workflow within a time limit. Tests after the limit, and those for which no compute thread is free,
 * are reported as `not_run`.
 */
async function runTests<T extends TestContent>(
  scope: Scope,
  workflow: PublishedWorkflow,
  tests: T[],
  realMsMax = REAL_MS_MAX,
): Promise<{ test: T; outcome: Outcome }[]> {
  const deadline = performance.now() + realMsMax
  const outcomes: { test: T; outcome: Outcome }[] = []
  for (const test of tests) {
    const remainingMs = deadline - performance.now()
    const options = { test, workflow, threadMsMax: Math.min(remainingMs, SINGLE_MS_MAX) }
    const outcome = remainingMs > 0 ? await tryRun(scope, options) : undefined
    outcomes.push({ test, outcome: outcome ?? toNotRun(test) })
  }
  return outcomes
}

function toNotRun({ name }: TestContent): Outcome {
  return { name, status: 'not_run', differences: [] }
}

/** Simulates one test and compares the result with its expectation. A test that exceeds its budget has failed. */
async function runWorkflowTest(
  scope: Scope,
  { test, workflow, threadMsMax }: { test: TestContent; workflow: PublishedWorkflow; threadMsMax: number },
): Promise<Outcome> {
  const { name, contact, startsAt, input, stepOutputs } = test
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
  return { name, status: differences.length > 0 ? 'failed' : 'passed', differences }
}

function toDifferences(error: unknown): string[] {
  if (error instanceof BudgetExceededError) return [error.message]
  throw error
}

/** A saved run records whether its conversation was new, but not whether its contact was. */
function listOpeningEvents({ sourceRunId, opensConversation }: TestContent, subject: Subject): WorkflowEvent[] {
  if (sourceRunId === null) return toOpening(subject)
  return opensConversation ? [{ type: 'conversation_opened' }] : []
}
