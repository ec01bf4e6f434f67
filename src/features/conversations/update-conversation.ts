import { Conversation as ConversationRow } from '../../models/messaging.ts'
import { InvalidError, NotFoundError } from '../../platform/errors.ts'
import { listChanged } from '../../platform/fields.ts'
import { isUuid } from '../../platform/ids.ts'
import type { ConversationEventType } from '../../scope/event-types.ts'
import type { Scope } from '../../scope/scope.ts'
import { readReceiptJob } from '../automation/jobs.ts'
import { emitEvents } from '../automation/emit-events.ts'
import { resumePausedRuns } from '../automation/resume-paused-runs.ts'
import { AUTOMATION_ON, pausedColumns, toAutomation } from './automation.ts'
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
    const columns = {
      ...(status === 'active' ? reopenColumns(existing) : {}),
      ...(status === 'snoozed' ? { status, snoozedUntil: snoozedUntil ?? null, closedAt: null } : {}),
      ...(status === 'closed' ? { status, snoozedUntil: null, closedAt: now } : {}),
      ...(assigneeId === undefined ? {} : { assigneeId }),
      ...(resumesAutomation ? AUTOMATION_ON : {}),
      ...(automation?.state === 'paused' ? pausedColumns('manual', automation.until ?? null) : {}),
    }
    await tx
      .query(ConversationRow)
      .findOne('id', conversationId)
      .patch({ ...columns, updatedAt: now })
    if (resumesAutomation && existing.automationState === 'paused') await resumePausedRuns(tx, [conversationId])
    if (status === 'closed' && existing.status !== 'closed') {
      await emitEvents(tx, [{ contactId, conversationId, event: { type: 'conversation_closed' } }])
    }
    const type = eventType(status, existing.status)
    const changed = listChanged(toFields(existing, now), toFields({ ...existing, ...columns }, now))
    if (type) await tx.record({ type, data: { conversationId, contactId } })
    else if (changed.length > 0)
      await tx.record({ type: 'conversation.updated', data: { conversationId, contactId, changed } })
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

type Changeable = Parameters<typeof reopenColumns>[0] &
  Parameters<typeof toAutomation>[0] &
  Pick<ConversationRow, 'assigneeId'>

/** Returns the fields that a change may be about, as the API shows them. */
function toFields(row: Changeable, now: Date) {
  const { status, snoozedUntil, closedAt, reopenCount, assigneeId } = row
  return { status, snoozedUntil, closedAt, reopenCount, assigneeId, automation: toAutomation(row, now) }
}

/** Returns undefined for a change that has no event of its own. */
function eventType(status: UpdateConversation['status'], previous: string): ConversationEventType | undefined {
  if (status === undefined || status === previous) return undefined
  if (status === 'active') return previous === 'closed' ? 'conversation.reopened' : undefined
  return `conversation.${status}`
}

async function assertMember(tx: Scope, userId: string): Promise<void> {
  if (!isUuid(userId)) throw new NotFoundError('Member')
  const members = await tx.sql('findMember')`
    select from memberships where workspace_id = ${tx.tenantId} and user_id = ${userId}`
  if (members.length === 0) throw new NotFoundError('Member')
}
