import type { StoredRun } from '../../engine/model/stored-run.ts'
import type { Scope } from '../../scope.ts'
import { changeConsents } from '../contacts/change-consents.ts'
import { addNotes } from '../outbound/add-notes.ts'
import { assignConversations } from '../conversations/assign-conversations.ts'
import { closeConversations } from '../conversations/close-conversations.ts'
import { changeGroupContacts } from '../groups/change-group-contacts.ts'
import type { WorkflowEffect } from '../../steps/effects.ts'

type Upkeep = {
  run: StoredRun
  contactId: string | null
  conversationId: string | null
  stepId: string
  effect: WorkflowEffect
}

/** What a batch of runs changes of groups, consents, assignees, notes and closed conversations. */
export async function applyUpkeep(tx: Scope, wanted: Upkeep[]): Promise<void> {
  await changeGroupContacts(tx, wanted.flatMap(groupChangeOf))
  await changeConsents(tx, wanted.flatMap(consentOf))
  await addNotes(tx, wanted.flatMap(noteOf))
  await assignConversations(tx, wanted.flatMap(assignmentOf))
  await closeConversations(
    tx,
    wanted.flatMap((one, index) => closeOf(one, wanted, index)),
  )
}

function groupChangeOf({ run, contactId, effect }: Upkeep) {
  if (contactId === null || (effect.type !== 'add_to_group' && effect.type !== 'remove_from_group')) return []
  return [{ contactId, groupId: effect.groupId, isAdded: effect.type === 'add_to_group', depth: run.state.depth + 1 }]
}

function consentOf({ run, contactId, effect }: Upkeep) {
  if (contactId === null || effect.type !== 'set_consent') return []
  return [{ contactId, marketing: effect.marketing, depth: run.state.depth + 1 }]
}

function noteOf({ run, conversationId, stepId, effect }: Upkeep) {
  if (conversationId === null || effect.type !== 'add_note') return []
  const sender = { type: 'workflow' as const, id: run.workflowId, name: null }
  return [{ id: effect.noteId, conversationId, body: effect.body, sender, runId: run.state.id, stepId }]
}

function assignmentOf({ conversationId, effect }: Upkeep) {
  return conversationId !== null && effect.type === 'assign' ? [{ conversationId, to: effect.to }] : []
}

/** Closing hands the conversation back to automation, unless a handoff came after it. */
function closeOf({ run, conversationId, effect }: Upkeep, wanted: Upkeep[], index: number) {
  if (conversationId === null || effect.type !== 'close_conversation') return []
  const keepPaused = wanted
    .slice(index + 1)
    .some((later) => later.conversationId === conversationId && later.effect.type === 'handoff')
  return [{ conversationId, keepPaused, depth: run.state.depth + 1 }]
}
