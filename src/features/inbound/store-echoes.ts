import type { MessageEcho, StatusUpdate } from '../../channels/channel.ts'
import { toRecordset } from '../../platform/database/sql.ts'
import { sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import type { Event } from '../../scope/event-types.ts'
import type { Scope } from '../../scope/scope.ts'
import { isDeletedSql } from '../automation/deleted-message-ids.ts'
import { sortForLocking } from '../automation/lock-order.ts'
import { pausedByReplySql } from '../conversations/automation.ts'
import { REOPEN_SQL } from '../conversations/reopen.ts'
import { messageEvent } from '../outbound/message-status.ts'
import { nextMessageId, touchByOutbound } from '../outbound/queue-messages.ts'
import { applyStatuses } from '../outbound/statuses/apply-statuses.ts'
import { ensureConversations } from '../conversations/ensure-conversations.ts'
import { findEchoedDoubts, type NewEcho } from './echoed-doubts.ts'
import { resolveSenders, type ResolvedSender, senderKey } from './resolve-senders.ts'

/**
 * Stores messages that members wrote in the provider's app as sent messages of the conversation, and pauses its
 * automation like a reply by the API. An echo of a message that we sent ourselves changes nothing, unless its delivery is
 * unknown: then it is sent.
 */
export async function storeEchoes(tx: Scope, channelId: string, echoes: MessageEcho[]): Promise<void> {
  if (echoes.length === 0) return
  const people = await resolveSenders(
    tx,
    channelId,
    echoes.map(({ to, providerMessageId }) => ({ sender: to, providerMessageId })),
  )
  const contactIds = [...people.values()].map(({ contactId }) => contactId)
  const conversations = await ensureConversations(tx, channelId, contactIds)
  const newestIds = new Map<string, string>()
  const distinct = new Map(echoes.toReversed().map((echo) => [echo.providerMessageId, echo]))
  const candidates = [...distinct.values()].toReversed().flatMap((echo): NewEcho | [] => {
    const person = people.get(senderKey(echo.to))
    if (!person) return []
    const conversation = conversations.get(person.contactId)
    if (!conversation) throw new Error(`a recipient of channel ${channelId} has no conversation`)
    const { conversationId, lastMessageId } = conversation
    const id = nextMessageId(newestIds.get(conversationId) ?? lastMessageId)
    newestIds.set(conversationId, id)
    return { id, echo, conversation }
  })
  const doubts = await findEchoedDoubts(tx, channelId, candidates)
  const inserted = await insertEchoes(
    tx,
    channelId,
    candidates.filter((candidate) => !doubts.has(candidate)),
  )
  if (inserted.length > 0) await pauseConversations(tx, inserted)
  await tx.record(...toEvents(inserted, people))
  await applyStatuses(tx, { channelId, statuses: [...doubts].map(toSentStatus) })
}

/** Converts the echo of a message in doubt to the report that it was sent. */
function toSentStatus([{ echo }, messageId]: [NewEcho, string]): StatusUpdate {
  const { providerMessageId, at } = echo
  return { providerMessageId, status: 'sent', at, messageId, error: null, recipient: null, pricing: null }
}

/**
 * Inserts the echoes whose provider id is unknown. The provider id of a message that is being sent is not stored yet: an
 * echo with the same text counts as that message.
 */
async function insertEchoes(tx: Scope, channelId: string, echoes: NewEcho[]): Promise<NewEcho[]> {
  const rows = echoes.map(({ id, echo, conversation: { conversationId, contactId } }) => ({
    id,
    conversationId,
    contactId,
    providerMessageId: echo.providerMessageId,
    type: echo.type,
    body: echo.body,
    content: echo.content,
    at: echo.at,
  }))
  const input = toRecordset(sortForLocking(rows, (row) => row.providerMessageId))
  const now = tx.now()
  const inserted = await tx.sql<{ id: string }>('insertEchoes')`
    with new_ids as (
       insert into provider_message_ids (tenant_id, channel_id, provider_message_id, message_id, created_at)
       select ${tx.tenantId}::uuid, ${channelId}::uuid, x.provider_message_id, x.id, ${now}::timestamptz
       from jsonb_to_recordset(${input}::jsonb) as x (id uuid, provider_message_id text, conversation_id uuid, body text)
       where not exists (
           select from messages m where m.tenant_id = ${tx.tenantId} and m.conversation_id = x.conversation_id
             and m.direction = 'outbound' and m.provider_message_id is null and m.body is not distinct from x.body
             and m.status = 'sending')
         and not ${isDeletedSql(tx, channelId, sqlFragment`x.provider_message_id`)}
       on conflict do nothing returning message_id)
     insert into messages (tenant_id, id, conversation_id, contact_id, channel_id, direction, type, body, content,
       status, sender, provider_message_id, provider_at, sent_at, created_at, updated_at)
     select ${tx.tenantId}::uuid, i.id, i.conversation_id, i.contact_id, ${channelId}::uuid, 'outbound', i.type, i.body, i.content,
       'sent', '{"type": "device", "id": null, "name": null}', i.provider_message_id, i.at, i.at, ${now}::timestamptz, ${now}::timestamptz
     from jsonb_to_recordset(${input}::jsonb) as i (id uuid, conversation_id uuid, contact_id uuid, provider_message_id text,
       type text, body text, content jsonb, at timestamptz)
     join new_ids on new_ids.message_id = i.id
     returning id`
  const insertedIds = new Set(inserted.map(({ id }) => id))
  return echoes.filter(({ id }) => insertedIds.has(id))
}

/** Updates the previews of the conversations, reopens them and pauses their automation. */
async function pauseConversations(tx: Scope, echoes: NewEcho[]): Promise<void> {
  const messages = echoes.map(({ id, echo: { body, type }, conversation: { conversationId, contactId } }) => ({
    id,
    conversationId,
    contactId,
    body,
    type,
  }))
  await touchByOutbound(tx, messages, [sqlText(REOPEN_SQL), pausedByReplySql(sqlFragment`true`)])
}

function toEvents(echoes: NewEcho[], people: Map<string, ResolvedSender>): Event[] {
  const opened = new Map(echoes.map(({ conversation }) => [conversation.conversationId, conversation]))
  const createdIds = new Set([...people.values()].flatMap(({ contactId, isNew }) => (isNew ? [contactId] : [])))
  return [
    ...[...createdIds].map((contactId): Event => ({ type: 'contact.created', data: { contactId } })),
    ...[...opened.values()].flatMap(({ conversationId, contactId, isNew, wasClosed }): Event[] => {
      if (!isNew && !wasClosed) return []
      return [{ type: isNew ? 'conversation.opened' : 'conversation.reopened', data: { conversationId, contactId } }]
    }),
    ...echoes.map(({ id, conversation }) => messageEvent('message.sent', { ...conversation, messageId: id })),
  ]
}
