import type { Broadcast as BroadcastRow } from '../../../models/messaging/broadcast.ts'
import type { Database } from '../../../platform/database/database.ts'
import { createSqlTag, selectRows } from '../../../platform/database/sql.ts'
import { assertNamesTenant } from '../../../platform/database/statements/statement.ts'
import { NotFoundError } from '../../../platform/errors.ts'
import { isUuid } from '../../../platform/ids.ts'
import type { Scope } from '../../../scope.ts'
import { addsUp, readCounts } from '../counts.ts'
import type { BroadcastRef } from '../schema.ts'
import type { BroadcastReport } from './schema.ts'

const ITEMS_MAX = 1000

/** Database and workspace of a report. */
export type ReportSource = Pick<Scope, 'db' | 'sql' | 'tenantId'>

/** Returns the source of reports for a script, which has no scope. */
export function toReportSource(db: Database, tenantId: string): ReportSource {
  const sql: Scope['sql'] = (name) => createSqlTag(db, name, (statement) => assertNamesTenant(statement, tenantId))
  return { db, tenantId, sql }
}

/** @throws NotFoundError */
export async function getReport(source: ReportSource, { broadcastId }: BroadcastRef): Promise<BroadcastReport> {
  if (!isUuid(broadcastId)) throw new NotFoundError('Broadcast')
  const [broadcasts, counts, acceptedTwice, doubts] = await Promise.all([
    selectRows<Pick<BroadcastRow, 'status' | 'snapshotAt' | 'snapshotHash'>>(
      source.db,
      'select status, snapshot_at, snapshot_hash from broadcasts where tenant_id = ? and id = ?',
      [source.tenantId, broadcastId],
    ),
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

function listAcceptedTwice(
  { db, tenantId }: ReportSource,
  broadcastId: string,
): Promise<BroadcastReport['acceptedTwice']> {
  return selectRows(
    db,
    `select id as recipient_id, contact_id, address, accepted_count from broadcast_recipients
     where tenant_id = :tenantId and broadcast_id = :broadcastId and accepted_count > 1 order by id limit :limit`,
    { tenantId, broadcastId, limit: ITEMS_MAX },
  )
}

async function readDoubts({ db, tenantId }: ReportSource, broadcastId: string): Promise<BroadcastReport['doubts']> {
  const bindings = { tenantId, broadcastId, limit: ITEMS_MAX }
  const [[number], items] = await Promise.all([
    selectRows<{ total: number; open: number }>(
      db,
      `select count(*)::int as total, count(*) filter (where doubt_settled_at is null)::int as open
       from broadcast_recipients
       where tenant_id = :tenantId and broadcast_id = :broadcastId and doubted_at is not null`,
      bindings,
    ),
    selectRows<BroadcastReport['doubts']['items'][number]>(
      db,
      `select id as recipient_id, contact_id, address, status, doubted_at, doubt_settled_at as settled_at,
         doubt_settled_by as settled_by
       from broadcast_recipients
       where tenant_id = :tenantId and broadcast_id = :broadcastId and doubted_at is not null order by id limit :limit`,
      bindings,
    ),
  ])
  return { total: number?.total ?? 0, open: number?.open ?? 0, items }
}
