import type { Advance } from '../../engine/mailbox/ports.ts'
import type { Scope } from '../../scope/scope.ts'
import { emitEvents } from '../automation/emit-events.ts'
import { changeConsents } from '../contacts/change-consents.ts'
import { changeContacts } from '../contacts/change-contacts.ts'
import { changeTags } from '../contacts/change-tags.ts'
import { assignConversations } from '../conversations/assign-conversations.ts'
import { pauseAutomation, resumeAutomation } from '../conversations/automation.ts'
import { closeConversations } from '../conversations/close-conversations.ts'
import { discardCalls, requestCalls } from '../external-calls/call-queue.ts'
import { changeGroupContacts } from '../groups/change-group-contacts.ts'
import { addNotes } from '../outbound/add-notes.ts'
import { enqueueDelivery, type NewOutbound, sendQueued } from '../outbound/queue-messages.ts'
import { type Changes, collectChanges } from './collect-changes.ts'
import type { EvaluatedEvent, Evaluation } from '../../engine/model/evaluation.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { groupBy } from '../../platform/group-by.ts'
import { count, metrics, observe } from '../../platform/metrics.ts'
import { runMailbox, type StoredRun } from '../../engine/model/stored-run.ts'
import { isFinished, type StepRecord } from '../../engine/model/run.ts'
import type { Event } from '../../scope/event-types.ts'

const NO_STEPS = { firstStep: null, lastStep: null }

/** Reasons that are kept for an event: a workspace with 1,000 workflows would write 40 kB for each message. */
export const REASONS_MAX = 100

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
  recordRuns(runs, steps)
  const apply = async () => {
    await applyChanges(tx, changes)
    await requestCalls(
      tx,
      calls.map(({ run, call }) => ({ runId: run.state.id, mailbox: runMailbox(run), ...call })),
    )
    await recordEvaluations(tx, evaluated)
    await tx.record(...toRunEvents(runs, steps))
    await deliver(tx, changes.messages)
  }
  await Promise.all([stored, saveSteps(), apply()])
}

function recordRuns(runs: StoredRun[], steps: { step: StepRecord }[]): void {
  for (const { state, hasStarted } of runs) {
    if (hasStarted) count(metrics.runs, { status: 'started' })
    if (isFinished(state)) count(metrics.runs, { status: state.status })
  }
  for (const { step } of steps) {
    const { type, startedAt, finishedAt } = step
    if (finishedAt !== null)
      observe(metrics.runStep, { step_type: type }, Date.parse(finishedAt) - Date.parse(startedAt))
  }
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
  await emitEvents(tx, changes.events)
}

/** Stores evaluations, in one insert for a batch. An event that is processed again after a rollback is stored once. */
export async function recordEvaluations(tx: Scope, events: EvaluatedEvent[]): Promise<void> {
  const rows = events
    .filter(({ evaluations }) => evaluations.length > 0)
    .map(({ id, contactId, conversationId, event, evaluations }) => ({
      id,
      contact_id: contactId,
      conversation_id: conversationId,
      event,
      evaluations: selectReasons(evaluations),
      created_at: tx.now(),
    }))
  if (rows.length === 0) return
  await tx.sql('recordEvaluations')`
    ${insertRowsSql('trigger_evaluations', tx.tenantId, rows)} on conflict (tenant_id, id) do nothing`
}

/** Prefers the workflows that matched but were not started; few people ask about the others. */
function selectReasons(evaluations: Evaluation[]): Evaluation[] {
  if (evaluations.length <= REASONS_MAX) return evaluations
  const isMismatch = ({ outcome }: Evaluation) => outcome === 'no_match'
  const ordered = evaluations.toSorted((a, b) => Number(isMismatch(a)) - Number(isMismatch(b)))
  return ordered.slice(0, REASONS_MAX)
}

/**
 * Converts changed runs to events. `firstStep` and `lastStep` are the range of step records that were written with an
 * event, so that a subscriber reads only those.
 */
function toRunEvents(runs: StoredRun[], steps: { runId: string; step: StepRecord }[]): Event[] {
  const written = groupBy(steps, ({ runId }) => runId)
  return runs.flatMap(({ state: { id, status }, workflowId, conversationId, hasStarted }): Event[] => {
    const data = { runId: id, workflowId, conversationId }
    const indexes = written.get(id)?.map(({ step }) => step.index)
    const range = indexes && { firstStep: `${Math.min(...indexes)}`, lastStep: `${Math.max(...indexes)}` }
    const started: Event[] = hasStarted ? [{ type: 'run.started', data: { ...data, ...NO_STEPS } }] : []
    return [...started, { type: `run.${status}`, data: { ...data, ...(range ?? NO_STEPS) } }]
  })
}
