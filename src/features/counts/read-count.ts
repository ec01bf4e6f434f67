import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import type { Counter } from './counter.ts'

/**
 * Returns the SQL of the number of rows of a counter, exactly as of now. `ownerId` is the ID it is stored under, or the SQL
 * of it.
 */
export function countSql(tenantId: string, counter: Counter['counter'], ownerId: string | SqlFragment): SqlFragment {
  const isCounted = sqlFragment`tenant_id = ${tenantId} and counter = ${counter} and owner_id = ${ownerId}`
  return sqlFragment`(select coalesce(sum(n), 0)::int from (
    select count as n from counts where ${isCounted}
    union all select delta from count_deltas where ${isCounted}) counted)`
}
