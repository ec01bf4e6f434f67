import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import { toSender } from '../../scope/dependencies.ts'
import type { Scope } from '../../scope/scope.ts'
import { pausedByReplySql } from '../conversations/automation.ts'
import { REOPEN_SQL } from '../conversations/reopen.ts'
import { messageEvent } from '../outbound/message-status.ts'
import { type NewOutbound, nextMessageId, queueMessages, toMessageRows } from '../outbound/queue-messages.ts'
import { findAnsweredId } from './message-sources.ts'
import type { MessageInput } from './schema.ts'

export type ComposedContent = Pick<NewOutbound, 'body' | 'content' | 'category'>

/** A message to store, and its conversation. */
export type ComposedMessage = {
  place: { conversationId: string; channelId: string; contactId: string; lastMessageId: string | null }
  composed: ComposedContent
  input: Pick<MessageInput, 'sendAt' | 'replyToId' | 'reaction'>
}

/**
 * Queues or schedules messages, in a fixed number of statements, and returns their IDs. They reopen their conversations
 * and, unless they are templates, pause the automation. Those that are scheduled do neither before their time. The caller
 * holds the locks of the conversations.
 */
export async function storeMessages(tx: Scope, composed: ComposedMessage[]): Promise<string[]> {
  const newestIds = new Map<string, string>()
  const messages = composed.map(({ place, composed: { category, ...content }, input }): NewOutbound => {
    const { conversationId, channelId, contactId, lastMessageId } = place
    const id = nextMessageId(newestIds.get(conversationId) ?? lastMessageId)
    newestIds.set(conversationId, id)
    const { sendAt } = input
    return {
      id,
      conversationId,
      contactId,
      channelId,
      ...content,
      ...(category ? { category } : {}),
      ...(sendAt ? { sendAt } : {}),
      replyToId: findAnsweredId(input),
      sender: toSender(tx.actor),
      runId: null,
      stepId: null,
    }
  })
  const scheduled = messages.filter(({ sendAt }) => sendAt)
  const queued = messages.filter(({ sendAt }) => !sendAt)
  if (scheduled.length > 0) await scheduleMessages(tx, scheduled)
  if (queued.length > 0) {
    await queueMessages(tx, queued)
    await resumeConversations(tx, queued)
  }
  return messages.map(({ id }) => id)
}

/** Stores messages that are put into the outbox at their `sendAt`. Until then they hold up no other message. */
async function scheduleMessages(tx: Scope, messages: NewOutbound[]): Promise<void> {
  const rows = (await toMessageRows(tx, messages, 'scheduled')).map((row) => ({ ...row, releaseAt: row.sendAt }))
  await tx.sql('scheduleMessages')`${insertRowsSql('messages', tx.tenantId, rows)}`
  await tx.record(
    ...messages.map(({ id, ...message }) => messageEvent('message.scheduled', { ...message, messageId: id })),
  )
}

/** Reopens conversations, and pauses the automation of those in which a person has written. */
async function resumeConversations(tx: Scope, messages: NewOutbound[]): Promise<void> {
  const ids = [...new Set(messages.map(({ conversationId }) => conversationId))]
  const replied = messages.flatMap(({ conversationId, category }) => (category ? [] : [conversationId]))
  await tx.sql('reopenByOutbound')`
    update conversations set ${sqlText(REOPEN_SQL)}, ${pausedByReplySql(sqlFragment`id = any(${replied})`)}
    where tenant_id = ${tx.tenantId} and id = any(${ids})`
}
