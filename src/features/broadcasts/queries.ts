import { raw } from 'objection'
import { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import { BroadcastRecipient as RecipientRow } from '../../models/messaging/broadcast-recipient.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { countDeltasColumn, readCounts, toCounts } from './counts.ts'
import type { Audience } from './audience/schema.ts'
import {
  type Broadcast,
  type BroadcastRecipient,
  type BroadcastRef,
  type ListBroadcasts,
  type ListRecipients,
  Schedule,
} from './schema.ts'

/** Broadcast with its template. */
class BroadcastView extends BroadcastRow {
  declare template: Broadcast['template']
  declare countDeltas: Record<string, number>
}

/** Recipient with its contact. */
class RecipientView extends RecipientRow {
  declare contact: BroadcastRecipient['contact']
}

function broadcastQuery(scope: Scope) {
  const template = raw(
    `(select json_build_object('id', t.id, 'name', t.name, 'language', t.language) from templates t
      where t.tenant_id = ? and t.id = broadcasts.template_id) as template`,
    [scope.tenantId],
  )
  return scope.query(BroadcastView).select('broadcasts.*', template, countDeltasColumn(scope))
}

function toBroadcast(row: BroadcastView): Broadcast {
  const { statusReason, counts, countDeltas, ...shown } = row
  const { recipientCount = 0, filter, exclude, ...audience }: Audience = row.audience
  return {
    ...shown,
    audience: { ...toIds(audience), recipientCount, filter: filter ?? null, exclude: toIds(exclude ?? {}) },
    schedule: row.schedule && Schedule.parse(row.schedule),
    counts: toCounts(counts, countDeltas),
    pausedReason: row.status === 'paused' ? statusReason : null,
    failureReason: row.status === 'failed' ? statusReason : null,
  }
}

function toIds({ groupIds = [], tagIds = [], contactIds = [] }: Audience) {
  return { groupIds, tagIds, contactIds }
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

/** Lists the recipients of a broadcast with their delivery status, newest first. Their number is that which is kept. */
export async function listRecipients(
  scope: Scope,
  { id: broadcastId, limit, offset, status }: ListRecipients,
): Promise<Page<BroadcastRecipient>> {
  await scope.get(BroadcastRow, broadcastId)
  const contact = raw(
    `(select json_build_object('id', c.id, 'name', c.name) from contacts c
      where c.tenant_id = ? and c.id = broadcast_recipients.contact_id) as contact`,
    [scope.tenantId],
  )
  const [counts, items] = await Promise.all([
    readCounts(scope, broadcastId),
    scope
      .query(RecipientView)
      .select('broadcast_recipients.*', contact)
      .where(definedFields({ broadcastId, status }))
      .orderBy('id', 'desc')
      .limit(limit)
      .offset(offset),
  ])
  return { items, total: counts[status ?? 'total'] }
}
