import type { StoredRun } from '../../engine/model/stored-run.ts'
import type { Advance } from '../../engine/mailbox/advance.ts'
import type { ExternalEffect, EffectRequest } from '../../engine/model/decision.ts'
import type { Subject } from '../../engine/model/subject.ts'
import type { Scope } from '../../scope.ts'
import { changeContacts } from '../contacts/change-contacts.ts'
import { changeTags } from '../contacts/change-tags.ts'
import { pauseAutomation, resumeAutomation } from '../conversations/automation.ts'
import { queueMessages } from '../outbound/queue-messages.ts'
import { discardCalls, requestCalls } from '../external-calls/request-calls.ts'
import { recordEvaluations } from './record-evaluations.ts'
import type { WorkflowEffect } from '../../steps/effects.ts'
import { applyUpkeep } from './apply-upkeep.ts'
import { raiseEvents } from '../automation/raise-events.ts'
import { toRunEvents } from './run-events.ts'

type Wanted = { run: StoredRun; party: Subject; placed: EffectRequest; effect: WorkflowEffect }

/**
 * Does what a batch of runs decided, in a few statements whatever its size. Effects of one kind are done together and
 * in their order; those of different kinds touch different things.
 */
export async function applyAdvance(tx: Scope, { runs, steps, effects, evaluated }: Advance): Promise<void> {
  const wanted: Wanted[] = effects.flatMap(({ run, party, placed }) =>
    placed.map((one) => ({ run, party, placed: one, effect: one.effect as WorkflowEffect })),
  )
  await discardCalls(
    tx,
    runs.filter(({ hasBegun }) => !hasBegun),
  )
  await queueMessages(tx, wanted.flatMap(messageOf))
  await changeContacts(tx, wanted.flatMap(contactChangeOf))
  await changeTags(tx, wanted.flatMap(tagChangesOf))
  await pauseAutomation(tx, wanted.flatMap(pauseOf))
  await resumeAutomation(tx, wanted.flatMap(resumptionOf))
  await applyUpkeep(
    tx,
    wanted.map(({ run, party: { contactId, conversationId }, placed: { stepId }, effect }) => ({
      run,
      contactId,
      conversationId,
      stepId,
      effect,
    })),
  )
  await raiseEvents(tx, wanted.flatMap(emittedOf))
  await requestCalls(tx, wanted.flatMap(requestOf))
  await recordEvaluations(tx, evaluated)
  await tx.record(...toRunEvents(runs, steps))
}

function messageOf({ run, party, placed: { stepId }, effect }: Wanted) {
  const { conversationId, contactId, channelId } = party
  if (effect.type !== 'send_message' || conversationId === null || contactId === null || channelId === null) return []
  return [
    {
      id: effect.messageId,
      conversationId,
      contactId,
      channelId,
      body: effect.body,
      content: contentOf(effect),
      sender: { type: 'workflow' as const, id: run.workflowId, name: null },
      runId: run.state.id,
      stepId,
    },
  ]
}

function contentOf({ buttons, media }: WorkflowEffect & { type: 'send_message' }): Record<string, unknown> | null {
  const content = { ...(buttons.length > 0 ? { buttons } : {}), ...(media ? { media } : {}) }
  return Object.keys(content).length > 0 ? content : null
}

function contactChangeOf({ run, party: { contactId }, effect }: Wanted) {
  if (effect.type !== 'update_contact' || contactId === null) return []
  return [{ contactId, values: effect.values, depth: run.state.depth + 1 }]
}

/** Workflows that a tag wakes are one further from what a person did. */
function tagChangesOf({ run, party: { contactId }, effect }: Wanted) {
  if ((effect.type !== 'add_tag' && effect.type !== 'remove_tag') || contactId === null) return []
  const depth = run.state.depth + 1
  return effect.tags.map((tag) => ({ contactId, tag, isAdded: effect.type === 'add_tag', depth }))
}

function pauseOf({ party: { conversationId }, effect }: Wanted) {
  return effect.type === 'handoff' && conversationId !== null ? [{ conversationId, until: effect.until }] : []
}

function resumptionOf({ party: { conversationId }, effect }: Wanted) {
  return effect.type === 'resume_automation' && conversationId !== null ? [conversationId] : []
}

function emittedOf({ run, party: { contactId }, effect }: Wanted) {
  if (effect.type !== 'emit' || contactId === null) return []
  const { event, data } = effect
  return [{ contactId, event: { type: 'event' as const, event, data }, depth: run.state.depth + 1 }]
}

function requestOf({ run, placed: { stepId, stepIndex, effect } }: Wanted) {
  if (effect.type !== 'external') return []
  const { attempt, epoch, timeoutMs, request } = effect as ExternalEffect
  return [{ runId: run.state.id, stepId, stepIndex, attempt, epoch, timeoutMs, request }]
}
