import { isUuid } from '../../platform/ids.ts'
import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'

/** Table and columns that are read of a resource, wherever it is shown. */
export type ItemSource = {
  table: SqlFragment
  /** Columns of the table by its name, and sub-selects for what is read from other tables. */
  columns: (tenantId: string) => SqlFragment
  /** Condition of the rows that are shown; by default all are. */
  isShown?: (tenantId: string) => SqlFragment
}

/** Reads the items that fulfil a condition, which may be followed by an order and a limit. */
export function readItems<Item>(
  scope: Scope,
  name: string,
  { table, columns, isShown = () => sqlFragment`true` }: ItemSource,
  condition: SqlFragment,
): Promise<Item[]> {
  return scope.sql<Item>(name)`
    select ${columns(scope.tenantId)} from ${table}
    where ${table}.tenant_id = ${scope.tenantId} and ${isShown(scope.tenantId)} and ${condition}`
}

/** Reads one item. Returns undefined for a malformed ID, a missing row and a row of another tenant alike. */
export async function readItem<Item>(
  scope: Scope,
  name: string,
  source: ItemSource,
  id: string,
): Promise<Item | undefined> {
  if (!isUuid(id)) return undefined
  const [item] = await readItems<Item>(scope, name, source, sqlFragment`${source.table}.id = ${id}`)
  return item
}
