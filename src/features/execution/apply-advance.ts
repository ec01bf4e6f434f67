import type { Advance } from '../../engine/mailbox/ports.ts'
import type { Scope } from '../../scope.ts'
import { raiseEvents } from '../automation/raise-events.ts'
import { changeConsents } from '../contacts/change-consents.ts'
import { changeContacts } from '../contacts/change-contacts.ts'
import { changeTags } from '../contacts/change-tags.ts'
import { assignConversations } from '../conversations/assign-conversations.ts'
import { pauseAutomation, resumeAutomation } from '../conversations/automation.ts'
import { closeConversations } from '../conversations/close-conversations.ts'
import { discardCalls, requestCalls } from '../external-calls/request-calls.ts'
import { changeGroupContacts } from '../groups/change-group-contacts.ts'
import { addNotes } from '../outbound/add-notes.ts'
import { enqueueDelivery, type NewOutbound, storeQueued } from '../outbound/queue-messages.ts'
import { type Changes, collectChanges } from './collect-changes.ts'
import { recordEvaluations } from './record-evaluations.ts'
import { toRunEvents } from './run-events.ts'

/**
 * Applies the decisions of a batch in a few statements, whatever its size. `deliver` arranges the delivery of the messages
 * that they queue, when everything else that a send depends on is applied.
 */
export async function applyAdvance(
  tx: Scope,
  { runs, steps, effects, calls, evaluated }: Advance,
  deliver: (tx: Scope, messages: NewOutbound[]) => Promise<void> = enqueueDelivery,
): Promise<void> {
  await discardCalls(
    tx,
    runs.filter(({ hasStarted }) => !hasStarted),
  )
  const changes = collectChanges(effects)
  await applyChanges(tx, changes)
  await requestCalls(
    tx,
    calls.map(({ run, call }) => ({ runId: run.state.id, ...call })),
  )
  await recordEvaluations(tx, evaluated)
  await tx.record(...toRunEvents(runs, steps))
  await deliver(tx, changes.messages)
}

/** Changes of one kind are applied together and in their order; those of different kinds affect different rows. */
async function applyChanges(tx: Scope, changes: Changes): Promise<void> {
  await storeQueued(tx, changes.messages)
  await changeContacts(tx, changes.contacts)
  await changeTags(tx, changes.tags)
  await pauseAutomation(tx, changes.pauses)
  await resumeAutomation(tx, changes.resumptions)
  await changeGroupContacts(tx, changes.groups)
  await changeConsents(tx, changes.consents)
  await addNotes(tx, changes.notes)
  await assignConversations(tx, changes.assignments)
  await closeConversations(tx, changes.closes)
  await raiseEvents(tx, changes.events)
}
