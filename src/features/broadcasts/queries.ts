import { raw } from 'objection'
import { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { NEWEST_FIRST, readPage } from '../paging/read-page.ts'
import { COUNT_DELTAS, readCounts, toCounts } from './counts.ts'
import type { Audience } from './audience/schema.ts'
import {
  type Broadcast,
  type BroadcastRecipient,
  type BroadcastRef,
  type ListBroadcasts,
  type ListRecipients,
  recipientStatus,
  Schedule,
} from './schema.ts'

/** Broadcast with its template. */
class BroadcastView extends BroadcastRow {
  declare template: Broadcast['template']
  declare countDeltas: Record<string, number>
}

const TEMPLATE = `(
  select json_build_object('id', template.id, 'name', template.name, 'language', template.language) from templates template
  where template.tenant_id = :tenantId and template.id = broadcasts.template_id) as template`

function broadcastQuery(scope: Scope) {
  return scope
    .query(BroadcastView)
    .select('broadcasts.*', ...[TEMPLATE, COUNT_DELTAS].map((sql) => raw(sql, { tenantId: scope.tenantId })))
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
export async function listBroadcasts(scope: Scope, input: ListBroadcasts): Promise<Page<Broadcast>> {
  const page = await readPage<BroadcastView>(
    scope,
    {
      from: 'broadcasts t',
      id: 't.id',
      conditions: ['t.tenant_id = :tenantId'],
      order: NEWEST_FIRST,
      item: { from: 'broadcasts', id: 'broadcasts.id', columns: `broadcasts.*, ${TEMPLATE}, ${COUNT_DELTAS}` },
      bindings: {},
    },
    input,
  )
  return { ...page, items: page.items.map(toBroadcast) }
}

/** Lists the recipients of a broadcast with their delivery status, newest first. Their number is that which is kept. */
export async function listRecipients(
  scope: Scope,
  { id: broadcastId, status, ...input }: ListRecipients,
): Promise<Page<BroadcastRecipient>> {
  await scope.get(BroadcastRow, broadcastId)
  const counts = await readCounts(scope, broadcastId)
  const statuses = status === undefined ? recipientStatus.options : [status]
  return readPage<BroadcastRecipient>(
    scope,
    {
      from: 'broadcast_recipients t',
      id: 't.id',
      conditions: ['t.tenant_id = :tenantId', 't.broadcast_id = :broadcastId'],
      alternatives: statuses.map((each) => `t.status = '${each}'`),
      order: { sort: '-id', value: 't.id', kind: 'id', direction: 'desc' },
      total: String(counts[status ?? 'total']),
      item: { from: 'broadcast_recipients', id: 'broadcast_recipients.id', columns: RECIPIENT_COLUMNS },
      bindings: { broadcastId },
    },
    input,
  )
}

const RECIPIENT_COLUMNS = `broadcast_recipients.*, (
  select json_build_object('id', c.id, 'name', c.name) from contacts c
  where c.tenant_id = :tenantId and c.id = broadcast_recipients.contact_id) as contact`
