import { raw } from 'objection'
import { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import { BroadcastRecipient as RecipientRow } from '../../models/messaging/broadcast-recipient.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import type { Broadcast, BroadcastRecipient, BroadcastRef, Counts, ListBroadcasts, ListRecipients } from './schema.ts'

export const NO_COUNTS: Counts = {
  total: 0,
  pending: 0,
  sending: 0,
  sent: 0,
  delivered: 0,
  read: 0,
  failed: 0,
  skipped: 0,
  canceled: 0,
  unknown: 0,
}

/** Broadcast with its template. */
class BroadcastView extends BroadcastRow {
  declare template: Broadcast['template']
}

/** Recipient with its contact and message. */
class RecipientView extends RecipientRow {
  declare contact: BroadcastRecipient['contact']
  declare messageId: string | null
}

const TEMPLATE = raw(`(
  select json_build_object('id', t.id, 'name', t.name, 'language', t.language) from templates t
  where t.tenant_id = broadcasts.tenant_id and t.id = broadcasts.template_id) as template`)

const RECIPIENT_JOINS = [
  raw(`(select json_build_object('id', c.id, 'name', c.name) from contacts c
    where c.tenant_id = broadcast_recipients.tenant_id and c.id = broadcast_recipients.contact_id) as contact`),
  raw(`(select m.id from messages m where m.tenant_id = broadcast_recipients.tenant_id
    and m.broadcast_id = broadcast_recipients.broadcast_id and m.contact_id = broadcast_recipients.contact_id
    limit 1) as message_id`),
]

function broadcastQuery(scope: Scope) {
  return scope.query(BroadcastView).select('broadcasts.*', TEMPLATE)
}

function toBroadcast(row: BroadcastView): Broadcast {
  return {
    ...row,
    audience: { groupIds: [], tagIds: [], contactIds: [], ...row.audience },
    counts: { ...NO_COUNTS, ...row.counts },
  }
}

/** @throws NotFoundError */
export async function getBroadcast(scope: Scope, { broadcastId }: BroadcastRef): Promise<Broadcast> {
  const row = isUuid(broadcastId) ? await broadcastQuery(scope).findOne('broadcasts.id', broadcastId) : undefined
  if (!row) throw new NotFoundError('Broadcast')
  return toBroadcast(row)
}

/** Lists broadcasts, newest first. */
export async function listBroadcasts(scope: Scope, { limit, offset }: ListBroadcasts): Promise<Page<Broadcast>> {
  const [total, rows] = await Promise.all([
    scope.query(BroadcastRow).resultSize(),
    broadcastQuery(scope)
      .orderBy([
        { column: 'createdAt', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .limit(limit)
      .offset(offset),
  ])
  return { items: rows.map(toBroadcast), total }
}

/** Lists the recipients of a broadcast with their delivery status, newest first. */
export async function listRecipients(
  scope: Scope,
  { id: broadcastId, limit, offset, status }: ListRecipients,
): Promise<Page<BroadcastRecipient>> {
  await scope.get(BroadcastRow, broadcastId)
  const filter = definedFields({ broadcastId, status })
  const [total, items] = await Promise.all([
    scope.query(RecipientRow).where(filter).resultSize(),
    scope
      .query(RecipientView)
      .select('broadcast_recipients.*', ...RECIPIENT_JOINS)
      .where(filter)
      .orderBy([
        { column: 'createdAt', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .limit(limit)
      .offset(offset),
  ])
  return { items, total }
}
