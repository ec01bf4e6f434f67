import { Broadcast as BroadcastRow } from '../../models/broadcasts.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { findCreators, withCreator, type WithCreator } from '../api-keys/creators.ts'
import { countsByKeySql, keptSumSql, toListTotal } from '../counts/count-sql.ts'
import { type ItemSource, readItem, readItems } from '../paging/read-items.ts'
import { NEWEST_FIRST, readPage } from '../paging/read-page.ts'
import { toCounts } from './counts.ts'
import type { Audience } from './audience/schema.ts'
import {
  type Broadcast,
  type BroadcastRecipient,
  type BroadcastRef,
  type ListBroadcasts,
  type ListRecipients,
  recipientStatus,
} from './schema.ts'
import { Schedule } from './schedule.ts'

/** Broadcast with its template and the numbers of its recipients. */
type BroadcastView = BroadcastRow & { template: Broadcast['template']; numbers: Record<string, number> }

const BROADCAST_SOURCE: ItemSource = {
  table: sqlFragment`broadcasts`,
  columns: (tenantId) => sqlFragment`broadcasts.*,
    ${countsByKeySql(tenantId, 'recipients', sqlFragment`broadcasts.id`)} as numbers,
    (select json_build_object('id', template.id, 'name', template.name, 'language', template.language)
      from templates template
      where template.tenant_id = ${tenantId} and template.id = broadcasts.template_id) as template`,
}

const RECIPIENT_SOURCE: ItemSource = {
  table: sqlFragment`broadcast_recipients`,
  columns: (tenantId) => sqlFragment`broadcast_recipients.*,
    coalesce(broadcast_recipients.sent_to, broadcast_recipients.address) as address,
    (select json_build_object('id', c.id, 'name', c.name) from contacts c
      where c.tenant_id = ${tenantId} and c.id = broadcast_recipients.contact_id) as contact`,
}

async function toBroadcasts(scope: Scope, rows: BroadcastView[]): Promise<Broadcast[]> {
  const creators = await findCreators(scope, rows)
  return rows.map((row) => toBroadcast(withCreator(row, creators)))
}

function toBroadcast(row: WithCreator<BroadcastView>): Broadcast {
  const { statusReason, numbers, completedAt: finishedAt, ...shown } = row
  return {
    ...shown,
    audience: toAudience(row.audience),
    schedule: row.schedule && Schedule.parse(row.schedule),
    counts: toCounts(numbers),
    finishedAt,
    pausedReason: row.status === 'paused' ? statusReason : null,
    failureReason: row.status === 'failed' ? statusReason : null,
  }
}

export function toAudience({ recipientCount = 0, filter, exclude, ...audience }: Audience): Broadcast['audience'] {
  return { ...toIds(audience), recipientCount, filter: filter ?? null, exclude: toIds(exclude ?? {}) }
}

function toIds({ groupIds = [], tagIds = [], contactIds = [] }: Audience) {
  return { groupIds, tagIds, contactIds }
}

/** Reads those of the broadcasts that exist. */
export async function loadBroadcasts(scope: Scope, ids: string[]): Promise<Broadcast[]> {
  const isOne = sqlFragment`broadcasts.id = any(${ids}::uuid[])`
  return toBroadcasts(scope, await readItems<BroadcastView>(scope, 'loadBroadcasts', BROADCAST_SOURCE, isOne))
}

/** @throws NotFoundError */
export async function getBroadcast(scope: Scope, { broadcastId }: BroadcastRef): Promise<Broadcast> {
  const row = await readItem<BroadcastView>(scope, 'getBroadcast', BROADCAST_SOURCE, broadcastId)
  const [broadcast] = await toBroadcasts(scope, row ? [row] : [])
  if (!broadcast) throw new NotFoundError('Broadcast')
  return broadcast
}

/** Lists broadcasts, newest first. */
export async function listBroadcasts(scope: Scope, input: ListBroadcasts): Promise<Page<Broadcast>> {
  const page = await readPage<BroadcastView>(
    scope,
    {
      name: 'listBroadcasts',
      from: sqlFragment`broadcasts`,
      id: sqlFragment`t.id`,
      conditions: [],
      order: NEWEST_FIRST,
      ...toListTotal(scope.tenantId, 'broadcasts', scope.tenantId),
      item: BROADCAST_SOURCE,
    },
    input,
  )
  return { ...page, items: await toBroadcasts(scope, page.items) }
}

/**
 * Lists the recipients of a broadcast with their delivery status, newest first. No index has all of them in their order, but
 * one has those of each status.
 */
export async function listRecipients(
  scope: Scope,
  { broadcastId, status, ...input }: ListRecipients,
): Promise<Page<BroadcastRecipient>> {
  await scope.get(BroadcastRow, broadcastId)
  const { tenantId } = scope
  const kept = keptSumSql(tenantId, 'recipients', sqlFragment`owner_id = ${broadcastId} and key = ${status ?? 'total'}`)
  const isOfStatus = status === undefined ? sqlFragment`true` : sqlFragment`status = ${status}`
  const statuses = status === undefined ? recipientStatus.options : [status]
  return readPage<BroadcastRecipient>(
    scope,
    {
      name: 'listRecipients',
      from: sqlFragment`broadcast_recipients`,
      id: sqlFragment`t.id`,
      conditions: [sqlFragment`t.broadcast_id = ${broadcastId}`],
      alternatives: statuses.map((each) => sqlFragment`t.status = ${each}`),
      order: { sort: '-id', value: sqlFragment`t.id`, kind: 'id', direction: 'desc' },
      total: sqlFragment`coalesce(${kept}, (
        select count(*)::int from broadcast_recipients
        where tenant_id = ${tenantId} and broadcast_id = ${broadcastId} and ${isOfStatus}))`,
      kept,
      item: RECIPIENT_SOURCE,
    },
    input,
  )
}
