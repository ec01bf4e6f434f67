import { sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { lockContactsToUpdate } from '../automation/lock-order.ts'
import { automationOnSql } from '../conversations/automation.ts'
import { type LastMessage, toLastMessage } from '../conversations/last-message.ts'
import { REOPEN_SQL } from '../conversations/reopen.ts'
import { windowExpiryFrom } from '../conversations/service-window.ts'
import type { NewInboundMessage } from './insert-inbound.ts'

/**
 * Updates the conversations and contacts of new messages: unread count, last message, service window, reopening. The
 * window starts when the customer wrote, by the provider's clock, and its end never moves back.
 */
export async function touchConversations(tx: Scope, messages: NewInboundMessage[]): Promise<void> {
  const now = tx.now()
  const changes = new Map<string, { count: number; at: Date; last: LastMessage }>()
  const contacts = new Map<string, Date>()
  for (const { id, message, conversation } of messages) {
    const { conversationId, contactId } = conversation
    const previous = changes.get(conversationId)
    const at = previous && previous.at > message.at ? previous.at : message.at
    const last = toLastMessage({ id, body: message.body, direction: 'inbound', type: message.type, at: now })
    changes.set(conversationId, { count: (previous?.count ?? 0) + 1, at, last })
    contacts.set(contactId, at)
  }
  // Times are numbers: a distributed database does not compute them from the texts of an update.
  const input = [...changes].map(([id, { at, ...change }]): [string, object] => [
    id,
    { ...change, at: at.getTime() / 1000, expiresAt: windowExpiryFrom(at).getTime() / 1000 },
  ])
  const change = sqlFragment`(${JSON.stringify(Object.fromEntries(input))}::jsonb -> id::text)`
  await Promise.all([
    tx.sql('touchConversations')`
      update conversations set unread_count = unread_count + (${change} ->> 'count')::int, last_message = ${change} -> 'last',
        last_message_at = ${now}, last_inbound_at = greatest(last_inbound_at, to_timestamp((${change} ->> 'at')::float8)),
        window_expires_at = greatest(window_expires_at, to_timestamp((${change} ->> 'expiresAt')::float8)),
        ${sqlText(automationOnSql(`status = 'closed'`))}, ${sqlText(REOPEN_SQL)}, updated_at = ${now}
      where tenant_id = ${tx.tenantId} and id = any(${[...changes.keys()]})`,
    lockContactsToUpdate(tx, [...contacts.keys()]),
    touchContacts(tx, contacts),
  ])
}

/** Updates when contacts wrote last. The caller holds the locks of several. */
async function touchContacts(tx: Scope, times: Map<string, Date>): Promise<void> {
  const seconds = Object.fromEntries([...times].map(([id, at]) => [id, at.getTime() / 1000]))
  await tx.sql('touchContacts')`
    update contacts
    set last_inbound_at = greatest(last_inbound_at, to_timestamp((${JSON.stringify(seconds)}::jsonb ->> id::text)::float8))
    where tenant_id = ${tx.tenantId} and id = any(${[...times.keys()]})`
}
