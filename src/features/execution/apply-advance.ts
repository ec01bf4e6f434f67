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
import { enqueueDelivery, type NewOutbound, sendQueued } from '../outbound/queue-messages.ts'
import { type Changes, collectChanges } from './collect-changes.ts'
import { recordEvaluations } from './record-evaluations.ts'
import { toRunEvents } from './run-events.ts'

/** Work of the caller within the transaction of a batch. */
type Callbacks = {
  /** Saves the step records, which refer to the messages of the batch. */
  saveSteps: () => Promise<void>
  /** Arranges the delivery of the messages, when everything else that a send depends on is applied. */
  deliver?: (tx: Scope, messages: NewOutbound[]) => Promise<void>
}

/**
 * Applies the decisions of a batch in a few statements, whatever its size. Those of new runs without other effects than
 * messages are sent to the server together.
 */
export async function applyAdvance(
  tx: Scope,
  { runs, steps, effects, calls, evaluated }: Advance,
  { saveSteps, deliver = enqueueDelivery }: Callbacks,
): Promise<void> {
  await discardCalls(
    tx,
    runs.filter(({ hasStarted }) => !hasStarted),
  )
  const changes = collectChanges(effects)
  const { stored } = await sendQueued(tx, changes.messages)
  const apply = async () => {
    await applyChanges(tx, changes)
    await requestCalls(
      tx,
      calls.map(({ run, call }) => ({ runId: run.state.id, ...call })),
    )
    await recordEvaluations(tx, evaluated)
    await tx.record(...toRunEvents(runs, steps))
    await deliver(tx, changes.messages)
  }
  await Promise.all([stored, saveSteps(), apply()])
}

/** Changes of one kind are applied together and in their order; those of different kinds affect different rows. */
async function applyChanges(tx: Scope, changes: Changes): Promise<void> {
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
