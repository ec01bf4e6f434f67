import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import type { Scope } from '../../scope.ts'
import { messageEvent } from '../outbound/message-event.ts'
import { type NewOutbound, toMessageRows } from '../outbound/queue-messages.ts'

/** Stores messages that are put into the outbox at their `sendAt`. Until then they hold up no other message. */
export async function scheduleMessages(tx: Scope, messages: (NewOutbound & { sendAt: Date })[]): Promise<void> {
  const rows = (await toMessageRows(tx, messages, 'scheduled')).map((row) => ({ ...row, releaseAt: row.sendAt }))
  await tx.sql('scheduleMessages')`${insertRowsSql('messages', tx.tenantId, rows)}`
  await tx.record(
    ...messages.map(({ id, ...message }) => messageEvent('message.scheduled', { ...message, messageId: id })),
  )
}
