import { raw } from 'objection'
import { Broadcast as BroadcastRow } from '../../models/broadcast.ts'
import { BroadcastRecipient as RecipientRow } from '../../models/broadcast-recipient.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/wire.ts'
import type { BroadcastRecipient, ListBroadcastRecipients } from './schema.ts'

type Joined = Pick<BroadcastRecipient, 'contact' | 'messageId'>

const CONTACT = raw(`(
  select json_build_object('id', c.id, 'name', c.name) from contacts c
  where c.tenant_id = broadcast_recipients.tenant_id and c.id = broadcast_recipients.contact_id) as contact`)

/** By the contact, who has few messages, not by the broadcast, which may have a million. */
const MESSAGE_ID = raw(`(
  select m.id from messages m
  where m.tenant_id = broadcast_recipients.tenant_id and m.contact_id = broadcast_recipients.contact_id
    and m.broadcast_id is not distinct from broadcast_recipients.broadcast_id
  order by m.created_at desc, m.id desc limit 1) as message_id`)

export async function listBroadcastRecipients(
  scope: Scope,
  { id, limit, offset }: ListBroadcastRecipients,
): Promise<Page<BroadcastRecipient>> {
  await scope.get(BroadcastRow, id)
  const [total, rows] = await Promise.all([
    scope.query(RecipientRow).where('broadcastId', id).resultSize(),
    scope
      .query(RecipientRow)
      .select('broadcast_recipients.*', CONTACT, MESSAGE_ID)
      .where('broadcastId', id)
      .orderBy([
        { column: 'createdAt', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .limit(limit)
      .offset(offset),
  ])
  return { items: rows as (RecipientRow & Joined)[], total }
}
