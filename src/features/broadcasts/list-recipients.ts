import { raw } from 'objection'
import { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import { BroadcastRecipient as RecipientRow } from '../../models/messaging/broadcast-recipient.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import type { BroadcastRecipient, ListRecipients } from './schema.ts'

const JOINED = [
  raw(`(select json_build_object('id', c.id, 'name', c.name) from contacts c
    where c.tenant_id = broadcast_recipients.tenant_id and c.id = broadcast_recipients.contact_id) as contact`),
  raw(`(select m.id from messages m where m.tenant_id = broadcast_recipients.tenant_id
    and m.broadcast_id = broadcast_recipients.broadcast_id and m.contact_id = broadcast_recipients.contact_id
    limit 1) as message_id`),
]

export async function listRecipients(
  scope: Scope,
  { id, limit, offset, status }: ListRecipients,
): Promise<Page<BroadcastRecipient>> {
  await scope.get(BroadcastRow, id)
  const wanted = definedFields({ broadcastId: id, status })
  const [total, rows] = await Promise.all([
    scope.query(RecipientRow).where(wanted).resultSize(),
    scope
      .query(RecipientRow)
      .select('broadcast_recipients.*', ...JOINED)
      .where(wanted)
      .orderBy([
        { column: 'createdAt', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .limit(limit)
      .offset(offset),
  ])
  return { items: rows as unknown as BroadcastRecipient[], total }
}
