import type { Subject, PublishedWorkflow } from '../../engine/model/subject.ts'
import type { WorkflowTest as TestRow } from '../../models/automation/workflow-test.ts'
import type { Scope } from '../../scope.ts'
import type { WorkflowEvent } from '../../triggers/events.ts'
import { parseDialogue } from '../simulations/dialogue.ts'
import { loadSimulatedSubject, toOpening } from '../simulations/load-simulated-subject.ts'
import { loadOtherWorkflows } from '../simulations/load-simulated-workflow.ts'
import { runSimulation } from '../simulations/run-simulation.ts'
import { Dialogue, StartedBy } from '../simulations/schema.ts'
import { findDifferences } from './find-differences.ts'
import { toWorkflowTest } from './queries.ts'
import type { TestOutcome } from './schema.ts'

/** Simulates one test and compares the result with its expectation. */
export async function runWorkflowTest(
  scope: Scope,
  { test, workflow, realMsMax }: { test: TestRow; workflow: PublishedWorkflow; realMsMax: number },
): Promise<TestOutcome> {
  const { id: testId, name, contact, startsAt, input, stepOutputs } = test
  const subject = await loadSimulatedSubject(scope, { contact, workflow, at: startsAt })
  const trace = runSimulation({
    workflow,
    others: await loadOtherWorkflows(scope, workflow),
    subject,
    now: startsAt,
    trigger: test.trigger === null ? undefined : StartedBy.parse(test.trigger),
    input,
    dialogue: parseDialogue(Dialogue.parse(test.dialogue)),
    opening: listOpeningEvents(test, subject),
    stepOutputs,
    realMsMax,
  })
  const differences = findDifferences(toWorkflowTest(test).expectation, trace)
  return { testId, name, status: differences.length > 0 ? 'failed' : 'passed', differences }
}

/** A saved run records whether its conversation was new, but not whether its contact was. */
function listOpeningEvents({ sourceRunId, opensConversation }: TestRow, subject: Subject): WorkflowEvent[] {
  if (sourceRunId === null) return toOpening(subject)
  return opensConversation ? [{ type: 'conversation_opened' }] : []
}
