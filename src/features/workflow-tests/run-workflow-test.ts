import type { Subject, PublishedWorkflow } from '../../engine/model/subject.ts'
import type { WorkflowEvent } from '../../triggers/events.ts'
import type { WorkflowTest as TestRow } from '../../models/automation/workflow-test.ts'
import type { Scope } from '../../scope.ts'
import { loadOtherWorkflows } from '../simulations/load-other-workflows.ts'
import { loadSimulatedSubject, toOpening } from '../simulations/load-simulated-subject.ts'
import { runSimulation } from '../simulations/run-simulation.ts'
import { parseDialogue } from '../simulations/dialogue.ts'
import { Dialogue, StartedBy } from '../simulations/schema.ts'
import { findDifferences } from './find-differences.ts'
import type { Expectation, TestOutcome } from './schema.ts'

/** Plays one test against a workflow, and says what came otherwise than expected. */
export async function runWorkflowTest(
  scope: Scope,
  { test, subject, realMsMax }: { test: TestRow; subject: PublishedWorkflow; realMsMax: number },
): Promise<TestOutcome> {
  const { id: testId, name, contact, startsAt, input, stepOutputs } = test
  const party = await loadSimulatedSubject(scope, { contact, subject, at: startsAt })
  const played = runSimulation({
    subject,
    others: await loadOtherWorkflows(scope, subject),
    party,
    now: startsAt,
    trigger: test.trigger === null ? undefined : StartedBy.parse(test.trigger),
    input,
    dialogue: parseDialogue(Dialogue.parse(test.dialogue)),
    opening: openingIn(test, party),
    stepOutputs,
    realMsMax,
  })
  const differences = findDifferences(test.expectation as Expectation, played)
  return { testId, name, status: differences.length > 0 ? 'failed' : 'passed', differences }
}

/** Whether a contact was new is not recorded of a run; whether its conversation was is. */
function openingIn({ sourceRunId, opensConversation }: TestRow, party: Subject): WorkflowEvent[] {
  if (sourceRunId === null) return toOpening(party)
  return opensConversation ? [{ type: 'conversation_opened' }] : []
}
