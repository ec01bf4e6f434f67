import type { Party, Published } from '../../engine/model/subject.ts'
import type { Opening } from '../../engine/simulate/simulate.ts'
import type { WorkflowTest as TestRow } from '../../models/automation/workflow-test.ts'
import type { Scope } from '../../scope.ts'
import { loadOthers } from '../simulations/load-other-workflows.ts'
import { loadParty, openingOf } from '../simulations/load-simulated-subject.ts'
import { playWorkflow } from '../simulations/run-simulation.ts'
import { readDialogue } from '../simulations/parse-dialogue.ts'
import { Dialogue, StartedBy } from '../simulations/schema.ts'
import { findDifferences } from './find-differences.ts'
import type { Expectation, TestOutcome } from './schema.ts'

/** Plays one test against a workflow, and says what came otherwise than expected. */
export async function playTest(
  scope: Scope,
  { test, subject, realMsMax }: { test: TestRow; subject: Published; realMsMax: number },
): Promise<TestOutcome> {
  const { id: testId, name, contact, startsAt, input, stepOutputs } = test
  const party = await loadParty(scope, { contact, subject, at: startsAt })
  const played = playWorkflow({
    subject,
    others: await loadOthers(scope, subject),
    party,
    now: startsAt,
    trigger: test.trigger === null ? undefined : StartedBy.parse(test.trigger),
    input,
    dialogue: readDialogue(Dialogue.parse(test.dialogue)),
    opens: openingIn(test, party),
    stepOutputs,
    realMsMax,
  })
  const differences = findDifferences(test.expectation as Expectation, played)
  return { testId, name, status: differences.length > 0 ? 'failed' : 'passed', differences }
}

/** Whether a contact was new is not recorded of a run; whether its conversation was is. */
function openingIn({ sourceRunId, opensConversation }: TestRow, party: Party): Opening[] {
  if (sourceRunId === null) return openingOf(party)
  return opensConversation ? ['conversation_opened'] : []
}
