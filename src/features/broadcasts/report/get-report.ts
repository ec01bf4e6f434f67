import type { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import type { Database } from '../../../platform/database/database.ts'
import { createSqlTag } from '../../../platform/database/sql.ts'
import { assertNamesTenant } from '../../../platform/database/statements/statement.ts'
import { NotFoundError } from '../../../platform/errors.ts'
import { isUuid } from '../../../platform/ids.ts'
import type { Scope } from '../../../scope/scope.ts'
import { addsUp, readCounts } from '../counts.ts'
import type { BroadcastRef, BroadcastReport } from '../schema.ts'

const ITEMS_MAX = 1000

/** Statements of the workspace of a report. */
export type ReportSource = Pick<Scope, 'sql' | 'tenantId'>

/** Returns the source of reports for a script, which has no scope. */
export function toReportSource(db: Database, tenantId: string): ReportSource {
  const sql: Scope['sql'] = (name) => createSqlTag(db, name, (statement) => assertNamesTenant(statement, tenantId))
  return { tenantId, sql }
}

/** @throws NotFoundError */
export async function getReport(source: ReportSource, { broadcastId }: BroadcastRef): Promise<BroadcastReport> {
  if (!isUuid(broadcastId)) throw new NotFoundError('Broadcast')
  const [broadcasts, counts, acceptedTwice, doubts] = await Promise.all([
    source.sql<Pick<BroadcastRow, 'status' | 'snapshotAt' | 'snapshotHash'>>('readSnapshot')`
      select status, snapshot_at, snapshot_hash from broadcasts where tenant_id = ${source.tenantId} and id = ${broadcastId}`,
    readCounts(source, broadcastId),
    listAcceptedTwice(source, broadcastId),
    readDoubts(source, broadcastId),
  ])
  const [broadcast] = broadcasts
  if (!broadcast) throw new NotFoundError('Broadcast')
  const { status, snapshotAt, snapshotHash } = broadcast
  return {
    broadcastId,
    status,
    snapshot: snapshotAt && snapshotHash !== null ? { at: snapshotAt, hash: snapshotHash } : null,
    counts,
    countsAddUp: addsUp(counts),
    acceptedTwice,
    doubts,
  }
}

function listAcceptedTwice(source: ReportSource, broadcastId: string): Promise<BroadcastReport['acceptedTwice']> {
  return source.sql<BroadcastReport['acceptedTwice'][number]>('listAcceptedTwice')`
    select id as recipient_id, contact_id, coalesce(sent_to, address) as address, accepted_count from broadcast_recipients
    where tenant_id = ${source.tenantId} and broadcast_id = ${broadcastId} and accepted_count > 1
    order by id limit ${ITEMS_MAX}`
}

async function readDoubts(source: ReportSource, broadcastId: string): Promise<BroadcastReport['doubts']> {
  const [[number], items] = await Promise.all([
    source.sql<{ total: number; open: number }>('countDoubts')`
      select count(*)::int as total, count(*) filter (where doubt_settled_at is null)::int as open
      from broadcast_recipients
      where tenant_id = ${source.tenantId} and broadcast_id = ${broadcastId} and doubted_at is not null`,
    source.sql<BroadcastReport['doubts']['items'][number]>('listDoubts')`
      select id as recipient_id, contact_id, coalesce(sent_to, address) as address, status, doubted_at, doubt_settled_at as settled_at,
        doubt_settled_by as settled_by
      from broadcast_recipients
      where tenant_id = ${source.tenantId} and broadcast_id = ${broadcastId} and doubted_at is not null
      order by id limit ${ITEMS_MAX}`,
  ])
  return { total: number?.total ?? 0, open: number?.open ?? 0, items }
}
