import type { Subject, PublishedWorkflow } from '../../engine/model/subject.ts'
import type { WorkflowTest as TestRow } from '../../models/automation.ts'
import { BudgetExceededError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadKeywordSettings } from '../consent/keyword-settings.ts'
import type { WorkflowEvent } from '../../triggers/events.ts'
import { parseDialogue } from '../simulations/dialogue.ts'
import { loadSimulatedSubject, toOpening } from '../simulations/load-simulated-subject.ts'
import { loadOtherWorkflows } from '../simulations/load-simulated-workflow.ts'
import { Dialogue, StartedBy } from '../simulations/schema.ts'
import { toWorkflowTest } from './queries.ts'
import type { TestOutcome } from './schema.ts'
import { workflowTestTask } from './workflow-test-task.ts'

/** Simulates one test and compares the result with its expectation. A test that exceeds its budget has failed. */
export async function runWorkflowTest(
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
  const { expectation } = toWorkflowTest(test)
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
