import { joinFragments, type SqlFragment, sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import type { ValueKind } from './cursor.ts'

export type Direction = 'asc' | 'desc'

export type Order = {
  /** Name that a client chooses the order by; part of the cursor. */
  sort: string
  /** Value of a row, by which an index over the tenant, the value and the ID orders it. Never null. */
  value: SqlFragment
  kind: ValueKind
  direction: Direction
}

/** The rows `t` of a list. */
export type ListRows = {
  /** Their table. */
  from: SqlFragment
  /** ID of the item of a row. It decides between rows of equal value, and goes in the same direction. */
  id: SqlFragment
  /** Conditions on the rows, all of which hold. */
  conditions: SqlFragment[]
  /** Conditions of which one holds. Each is read by an index scan of its own, and the scans are merged. */
  alternatives?: SqlFragment[]
  order: Order
}

export const DIRECTIONS = { asc: sqlFragment`asc`, desc: sqlFragment`desc` }

/** Returns the condition of each index scan of a list. */
function toScans(
  tenantId: string,
  { conditions, alternatives = [] }: Pick<ListRows, 'conditions' | 'alternatives'>,
): SqlFragment[] {
  const isOwn = sqlFragment`t.tenant_id = ${tenantId}`
  return (alternatives.length > 0 ? alternatives.map((one) => [one]) : [[]]).map((alternative) =>
    joinFragments([isOwn, ...conditions, ...alternative], ' and '),
  )
}

/** Returns the SQL of at most `limit` rows in no order: an index that finds them decides, and they are not sorted. */
export function matchesSql(tenantId: string, rows: ListRows, limit: number): SqlFragment {
  const scans = toScans(tenantId, rows).map((isMatch) => sqlFragment`select 1 from ${rows.from} t where ${isMatch}`)
  return sqlFragment`${joinFragments(scans, ' union all ')} ${sqlText(`limit ${limit}`)}`
}

type Walk = { direction: Direction; limit: number; offset?: number }

/** Returns the SQL of the `id` and `value` of rows in order. Further conditions are added to those of the list. */
export function walkSql(
  tenantId: string,
  { from, id, order, conditions, alternatives = [] }: ListRows,
  { direction, limit, offset = 0 }: Walk,
  further: SqlFragment[] = [],
): SqlFragment {
  const way = DIRECTIONS[direction]
  // Ordering by an ID twice would sort what an index has in order.
  const orderBy = (value: SqlFragment, thenBy: SqlFragment) =>
    order.kind === 'id'
      ? sqlFragment`order by ${value} ${way}`
      : sqlFragment`order by ${value} ${way}, ${thenBy} ${way}`
  // Numbers instead of parameters: a plan for all values would assume a tenth of the rows.
  const end = sqlText(`limit ${limit} offset ${offset}`)
  const scans = toScans(tenantId, { conditions: [...conditions, ...further], alternatives }).map(
    (isMatch) =>
      sqlFragment`select ${id} as id, ${order.value} as value from ${from} t where ${isMatch} ${orderBy(order.value, id)}`,
  )
  const [only] = scans
  if (only && scans.length === 1) return sqlFragment`${only} ${end}`
  const first = sqlText(`limit ${limit + offset}`)
  const merged = joinFragments(
    scans.map((scan) => sqlFragment`(${scan} ${first})`),
    ' union all ',
  )
  const inOrder = orderBy(sqlFragment`value`, sqlFragment`id`)
  return sqlFragment`select id, value from (${merged}) merged ${inOrder} ${end}`
}
