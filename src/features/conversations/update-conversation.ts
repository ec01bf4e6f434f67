import { Conversation as ConversationRow } from '../../models/messaging.ts'
import { InvalidError, NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { ConversationEventType } from '../../scope/event-types.ts'
import type { Scope } from '../../scope/scope.ts'
import { readReceiptJob } from '../automation/jobs.ts'
import { raiseEvents } from '../automation/raise-events.ts'
import { resumePausedRuns } from '../automation/resume-paused-runs.ts'
import { AUTOMATION_ON, pausedColumns } from './automation.ts'
import { getConversation } from './queries.ts'
import { reopenColumns } from './reopen.ts'
import type { Conversation, ConversationRef, UpdateConversation } from './schema.ts'

/**
 * Changes the fields that `input` has. Closing a conversation turns its automation on. To resume automation is to let
 * paused runs continue at once.
 */
export function updateConversation(scope: Scope, input: UpdateConversation): Promise<Conversation> {
  const { conversationId, status, snoozedUntil, assigneeId, automation } = input
  if ((status === 'snoozed') !== (snoozedUntil !== undefined)) {
    const message = 'must be set if and only if status is snoozed'
    throw new InvalidError(`snoozedUntil ${message}`, [{ path: 'snoozedUntil', message }])
  }
  const resumesAutomation = status === 'closed' || automation?.state === 'on'
  return scope.transaction(async (tx) => {
    const existing = await tx.lock(ConversationRow, conversationId)
    const { automationState: state, automationReason: reason, automationUntil: until } = existing
    tx.audit?.compareWith(
      { ...existing, automation: { state, reason, until } },
      { isChanged: resumesAutomation && state === 'paused' },
    )
    if (assigneeId) await assertMember(tx, assigneeId)
    const { contactId } = existing
    const now = tx.now()
    await tx
      .query(ConversationRow)
      .findOne('id', conversationId)
      .patch({
        ...(status === 'active' ? reopenColumns(existing) : {}),
        ...(status === 'snoozed' ? { status, snoozedUntil: snoozedUntil ?? null, closedAt: null } : {}),
        ...(status === 'closed' ? { status, snoozedUntil: null, closedAt: now } : {}),
        ...(assigneeId === undefined ? {} : { assigneeId }),
        ...(resumesAutomation ? AUTOMATION_ON : {}),
        ...(automation?.state === 'paused' ? pausedColumns('manual', automation.until ?? null) : {}),
        updatedAt: now,
      })
    if (resumesAutomation && existing.automationState === 'paused') await resumePausedRuns(tx, [conversationId])
    if (status === 'closed' && existing.status !== 'closed') {
      await raiseEvents(tx, [{ contactId, conversationId, event: { type: 'conversation_closed' } }])
    }
    await tx.record({ type: eventType(status, existing.status), data: { conversationId, contactId } })
    return getConversation(tx, { conversationId })
  })
}

/** Sets the number of unread messages to 0 and, in the background, shows the customer that they are read. */
export async function markConversationRead(scope: Scope, { conversationId }: ConversationRef): Promise<Conversation> {
  return scope.transaction(async (tx) => {
    const { unreadCount } = await tx.lock(ConversationRow, conversationId)
    await tx.query(ConversationRow).findOne('id', conversationId).patch({ unreadCount: 0, updatedAt: tx.now() })
    if (unreadCount > 0) tx.enqueue(readReceiptJob(tx.tenantId, conversationId))
    return getConversation(tx, { conversationId })
  })
}

function eventType(status: UpdateConversation['status'], previous: string): ConversationEventType {
  if (status === undefined || status === previous) return 'conversation.updated'
  if (status === 'active') return previous === 'closed' ? 'conversation.reopened' : 'conversation.updated'
  return `conversation.${status}`
}

async function assertMember(tx: Scope, userId: string): Promise<void> {
  if (!isUuid(userId)) throw new NotFoundError('Member')
  const members = await tx.sql('findMember')`
    select from memberships where workspace_id = ${tx.tenantId} and user_id = ${userId}`
  if (members.length === 0) throw new NotFoundError('Member')
}
