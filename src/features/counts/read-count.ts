import { selectRows } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import { type Counter, toOwnerId } from './counter.ts'

/** SQL of the number of rows of a counter; `ownerSql` is the ID it is stored under. The statement binds `:tenantId`. */
export function countSql(counter: Counter['counter'], ownerSql: string): string {
  return `(select coalesce(sum(n), 0)::int from (
    select count as n from counts where tenant_id = :tenantId and counter = '${counter}' and owner_id = ${ownerSql}
    union all select delta from count_deltas
    where tenant_id = :tenantId and counter = '${counter}' and owner_id = ${ownerSql}) counted)`
}

/** Returns the number of rows of a counter, exactly as of now. */
export async function readCount(scope: Scope, counter: Counter): Promise<number> {
  const [row] = await selectRows<{ total: number }>(
    scope.db,
    `select ${countSql(counter.counter, ':ownerId')} as total`,
    { tenantId: scope.tenantId, ownerId: toOwnerId(scope.tenantId, counter) },
  )
  return row?.total ?? 0
}
