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
  const isOwn = sqlFragment`t.tenant_id = ${tenantId}`
  const scans = (alternatives.length > 0 ? alternatives.map((one) => [one]) : [[]]).map((alternative) => {
    const all = joinFragments([isOwn, ...conditions, ...alternative, ...further], ' and ')
    return sqlFragment`select ${id} as id, ${order.value} as value from ${from} t where ${all}
      ${orderBy(order.value, id)}`
  })
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
