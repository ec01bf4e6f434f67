import type { Advance } from '../../engine/advance.ts'
import type { StoredRun } from '../../engine/run-store.ts'
import type { Event, Scope } from '../../scope.ts'
import { changeContacts } from '../contacts/change-contacts.ts'
import { changeTags } from '../contacts/change-tags.ts'
import { pauseAutomation, resumeAutomation } from '../conversations/pause-automation.ts'
import { queueMessages } from '../conversations/queue-messages.ts'
import type { WorkflowEffect } from '../workflows/steps/effects.ts'
import { applyUpkeep } from './apply-upkeep.ts'

type Wanted = {
  run: StoredRun
  conversation: Advance['effects'][number]['conversation']
  stepId: string
  effect: WorkflowEffect
}

/**
 * Does what a batch of runs decided, in a few statements whatever its size. Effects of one kind are done together and
 * in their order; those of different kinds touch different things.
 */
export async function applyAdvance(tx: Scope, { runs, effects }: Advance): Promise<void> {
  const wanted: Wanted[] = effects.flatMap(({ run, conversation, placed }) =>
    placed.map(({ stepId, effect }) => ({ run, conversation, stepId, effect: effect as WorkflowEffect })),
  )
  await queueMessages(tx, wanted.flatMap(messageOf))
  await changeContacts(tx, wanted.flatMap(contactChangeOf))
  await changeTags(tx, wanted.flatMap(tagChangesOf))
  await pauseAutomation(tx, wanted.flatMap(pauseOf))
  await resumeAutomation(
    tx,
    wanted.flatMap(({ conversation, effect }) =>
      effect.type === 'resume_automation' ? [conversation.conversationId] : [],
    ),
  )
  await applyUpkeep(
    tx,
    wanted.map(({ run, conversation, stepId, effect }) => ({ run, ...conversation, stepId, effect })),
  )
  await tx.record(...runs.flatMap(eventsOf))
}

function messageOf({ run, conversation, stepId, effect }: Wanted) {
  if (effect.type !== 'send_message') return []
  const { conversationId, contactId, channelId } = conversation
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

function contactChangeOf({ conversation, effect }: Wanted) {
  return effect.type === 'update_contact' ? [{ contactId: conversation.contactId, values: effect.values }] : []
}

function tagChangesOf({ conversation: { contactId }, effect }: Wanted) {
  if (effect.type !== 'add_tag' && effect.type !== 'remove_tag') return []
  return effect.tags.map((tag) => ({ contactId, tag, isAdded: effect.type === 'add_tag' }))
}

function pauseOf({ conversation: { conversationId }, effect }: Wanted) {
  return effect.type === 'handoff' ? [{ conversationId, until: effect.until }] : []
}

function eventsOf({ state: { id, status }, workflowId, conversationId, isNew }: StoredRun): Event[] {
  const data = { runId: id, workflowId, conversationId }
  const started: Event[] = isNew ? [{ type: 'run.started', data }] : []
  return [...started, { type: `run.${status}`, data }]
}
