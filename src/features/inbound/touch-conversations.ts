import { toRecordset } from '../../platform/database/sql.ts'
import { sqlText } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { lockContactsSql } from '../automation/lock-order.ts'
import { automationOnSql } from '../conversations/automation.ts'
import { toLastMessage } from '../conversations/last-message.ts'
import { REOPEN_SQL } from '../conversations/reopen.ts'
import { windowExpiryFrom } from '../conversations/service-window.ts'
import type { NewInboundMessage } from './insert-inbound.ts'

/**
 * Updates the conversations and contacts of new messages: unread count, last message, service window, reopening. The
 * window starts when the customer wrote, by the provider's clock, and its end never moves back.
 */
export async function touchConversations(tx: Scope, messages: NewInboundMessage[]): Promise<void> {
  const now = tx.now()
  const changes = new Map<string, { id: string; contactId: string; count: number; at: Date; last: unknown }>()
  for (const { id, message, conversation } of messages) {
    const { conversationId, contactId } = conversation
    const previous = changes.get(conversationId)
    changes.set(conversationId, {
      id: conversationId,
      contactId,
      count: (previous?.count ?? 0) + 1,
      at: previous && previous.at > message.at ? previous.at : message.at,
      last: toLastMessage({ id, body: message.body, direction: 'inbound', type: message.type, at: now }),
    })
  }
  const rows = [...changes.values()].map((change) => ({ ...change, expiresAt: windowExpiryFrom(change.at) }))
  const contactIds = rows.map(({ contactId }) => contactId)
  await tx.sql('touchConversations')`
    with input as materialized (
       select * from jsonb_to_recordset(${toRecordset(rows)}::jsonb) as x
         (id uuid, contact_id uuid, count int, at timestamptz, last jsonb, expires_at timestamptz)),
     touched as (
       update conversations cv set unread_count = unread_count + x.count, last_message = x.last, last_message_at = ${now},
         last_inbound_at = greatest(last_inbound_at, x.at), window_expires_at = greatest(window_expires_at, x.expires_at),
         ${sqlText(automationOnSql(`status = 'closed'`))}, ${sqlText(REOPEN_SQL)}, updated_at = ${now}
       from input x where cv.tenant_id = ${tx.tenantId} and cv.id = x.id),
     locked as (${lockContactsSql(tx, contactIds)})
     update contacts c set last_inbound_at = greatest(last_inbound_at, x.at)
     from locked join input x on x.contact_id = locked.id where c.tenant_id = ${tx.tenantId} and c.id = locked.id`
}
