import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import { InvalidError, NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Event, Scope } from '../../scope.ts'
import { raiseEvents } from '../automation/raise-events.ts'
import { resumePausedRuns } from '../automation/resume-paused-runs.ts'
import { getConversation } from './get-conversation.ts'
import type { Conversation, UpdateConversation } from './schema.ts'

/** Changes what is given. Closing hands the conversation back to automation; a customer who writes reopens it. */
export function updateConversation(scope: Scope, input: UpdateConversation): Promise<Conversation> {
  const { conversationId, status, snoozedUntil, assigneeId, automation } = input
  if ((status === 'snoozed') !== (snoozedUntil !== undefined)) {
    throw new InvalidError('snoozedUntil is given exactly with status snoozed', [
      { path: 'snoozedUntil', message: 'is given exactly with status snoozed' },
    ])
  }
  const isGivenBack = status === 'closed' || automation?.state === 'on'
  return scope.transaction(async (tx) => {
    const before = await tx.lock(ConversationRow, conversationId)
    if (assigneeId) await refuseStranger(tx, assigneeId)
    const now = tx.now()
    await tx
      .query(ConversationRow)
      .findOne('id', conversationId)
      .patch({
        ...(status ? { status, snoozedUntil: snoozedUntil ?? null, closedAt: status === 'closed' ? now : null } : {}),
        ...(status === 'active' && before.status === 'closed' ? { reopenCount: before.reopenCount + 1 } : {}),
        ...(assigneeId === undefined ? {} : { assigneeId }),
        ...(isGivenBack ? AUTOMATION_ON : {}),
        ...(automation?.state === 'paused'
          ? { automationState: 'paused', automationReason: 'manual', automationUntil: automation.until ?? null }
          : {}),
        updatedAt: now,
      })
    if (isGivenBack && before.automationState === 'paused') await resumePausedRuns(tx, [conversationId])
    if (status === 'closed' && before.status !== 'closed') {
      const { contactId } = before
      await raiseEvents(tx, [{ contactId, conversationId, event: { type: 'conversation_closed' } }])
    }
    await tx.record({ type: eventOf(status, before.status), data: { conversationId, contactId: before.contactId } })
    return getConversation(tx, { conversationId })
  })
}

const AUTOMATION_ON = { automationState: 'on', automationReason: null, automationUntil: null } as const

function eventOf(status: UpdateConversation['status'], before: string): Event['type'] {
  if (status === undefined || status === before) return 'conversation.updated'
  if (status === 'active') return before === 'closed' ? 'conversation.reopened' : 'conversation.updated'
  return `conversation.${status}`
}

async function refuseStranger(tx: Scope, userId: string): Promise<void> {
  const member =
    isUuid(userId) && (await tx.db('memberships').where({ workspace_id: tx.tenantId, user_id: userId }).first())
  if (!member) throw new NotFoundError('Member')
}
