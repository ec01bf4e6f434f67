import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { countRuns } from './count-runs.ts'
import { pageRuns } from './page-runs.ts'
import { isImpossible } from './run-filters.ts'
import { toRun, runQuery } from './run-rows.ts'
import type { ListRuns, Run } from './schema.ts'

export async function listRuns(scope: Scope, { limit, offset, ...filters }: ListRuns): Promise<Page<Run>> {
  if (isImpossible(filters)) return { items: [], total: 0 }
  const [total, ids] = await Promise.all([countRuns(scope, filters), pageRuns(scope, filters, { limit, offset })])
  const rows = ids.length === 0 ? [] : await runQuery(scope).whereIn('id', ids)
  rows.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
  return { items: rows.map(toRun), total }
}
