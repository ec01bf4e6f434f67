import { joinFragments, SqlFragment, sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { NO_TIME, type Position, parseCursor, toCursor, type ValueKind } from './cursor.ts'
import type { ItemSource } from './read-items.ts'

/** Matches of a filter are counted up to this number: the cost of a count does not grow with the data. */
export const TOTAL_MAX = 1000

/** An offset above this is walked from the nearer end of the list. */
const NEAR = 1000

export type Order = {
  /** Name that a client chooses the order by; part of the cursor. */
  sort: string
  /** Value of a row, by which an index over the tenant, the value and the ID orders it. Never null. */
  value: SqlFragment
  kind: ValueKind
  direction: 'asc' | 'desc'
}

/** The order of the rows `t`, those that were created last first. */
export const NEWEST_FIRST: Order = {
  sort: '-createdAt',
  value: sqlFragment`t.created_at`,
  kind: 'time',
  direction: 'desc',
}

export type Listing = {
  /** Name of the statement. */
  name: string
  /** Table of the listed rows. Its alias is `t`. */
  from: SqlFragment
  /** ID of the item of a listed row. It decides between rows of equal value, and goes in the same direction. */
  id: SqlFragment
  /** Conditions on the listed rows, all of which hold. */
  conditions: SqlFragment[]
  /** Conditions of which one holds. Each is read by an index scan of its own, and the scans are merged. */
  alternatives?: SqlFragment[]
  order: Order
  /** The kept number of rows that match, or how to read it. Without it the matches are counted. */
  total?: SqlFragment | number | undefined
  /** Matches are counted up to this number; `TOTAL_MAX` unless finding them by an index costs more. */
  totalMax?: number
  item: ItemSource
}

type Bounds = { limit: number; offset: number }
type PageInput = Bounds & { cursor?: string | undefined }
type Row<Item> = Item & { pageTotal: number; pageId: string | null; pageValue: Date | string | number }

/**
 * Reads one page of a list: first the IDs by an index, then what is shown of them. Its cost depends on the limit and, for a
 * page in the middle, on the offset; not on the number of rows.
 * @throws InvalidError if the cursor is not one of this list
 */
export async function readPage<Item>(scope: Scope, listing: Listing, input: PageInput): Promise<Page<Item>> {
  const { limit, offset } = input
  const { total, totalMax = TOTAL_MAX, order } = listing
  const after = input.cursor === undefined ? undefined : parseCursor(input.cursor, order.sort, order.kind)
  const reader = new PageReader<Item>(scope, listing, after)
  if (total === undefined) {
    const isCounted = !after && offset + limit <= totalMax
    const page = isCounted
      ? await reader.readCounted(totalMax, { limit, offset })
      : await reader.readForward(reader.countMatches(totalMax), { limit, offset })
    return page.total > totalMax ? { ...page, total: totalMax, totalCapped: true } : page
  }
  if (after || offset <= NEAR) return reader.readForward(total, { limit, offset })
  const count = typeof total === 'number' ? total : await reader.readTotal(total)
  if (offset < count / 2 || offset >= count) return reader.readForward(count, { limit, offset })
  return reader.readBackward(count, { limit, offset })
}

const TYPES = { text: sqlFragment`text`, time: sqlFragment`timestamptz`, id: sqlFragment`uuid` }
const DIRECTIONS = { asc: sqlFragment`asc`, desc: sqlFragment`desc` }

class PageReader<Item> {
  readonly #scope: Scope
  readonly #listing: Listing
  readonly #after: Position | undefined
  readonly #direction: SqlFragment

  constructor(scope: Scope, listing: Listing, after: Position | undefined) {
    this.#scope = scope
    this.#listing = listing
    this.#after = after
    this.#direction = DIRECTIONS[listing.order.direction]
  }

  async readTotal(total: SqlFragment): Promise<number> {
    const [row] = await this.#scope.sql<{ total: number }>(`${this.#listing.name}.total`)`select ${total} as total`
    return row?.total ?? 0
  }

  /** Returns the SQL of the number of matches, at most one more than `max`. */
  countMatches(max: number): SqlFragment {
    return sqlFragment`(select count(*)::int from (${this.#walk(this.#direction, { limit: max + 1, offset: 0 })}) matches)`
  }

  async readForward(total: SqlFragment | number, { limit, offset }: Bounds): Promise<Page<Item>> {
    const after = this.#after ? [this.#isAfter(this.#after)] : []
    const ids = this.#walk(this.#direction, { limit: limit + 1, offset }, after)
    return this.#toPage(await this.#readItems(selectTotal(total), ids, offset), limit)
  }

  /** Walks from the end of the list. */
  async readBackward(total: number, { limit, offset }: Bounds): Promise<Page<Item>> {
    const direction = this.#listing.order.direction === 'asc' ? DIRECTIONS.desc : DIRECTIONS.asc
    const rest = Math.max(0, total - offset - limit)
    const ids = this.#walk(direction, { limit: Math.min(limit, total - offset), offset: rest })
    const rows = await this.#readItems(selectTotal(total), ids, offset)
    return { ...this.#toPage(rows, limit), ...(rest > 0 ? this.#cursorAfter(rows.at(-1)) : {}) }
  }

  /** Reads the first matches once, at most one more than `max`: they are counted, and the page is a part of them. */
  async readCounted(max: number, { limit, offset }: Bounds): Promise<Page<Item>> {
    const matches = sqlFragment`with matches as materialized (${this.#walk(this.#direction, { limit: max + 1, offset: 0 })})`
    const total = sqlFragment`select count(*)::int as total from matches`
    const ids = sqlFragment`select id, value from matches
      order by value ${this.#direction}, id ${this.#direction} limit ${limit + 1} offset ${offset}`
    return this.#toPage(await this.#readItems(total, ids, offset, matches), limit)
  }

  /** Returns the SQL of the IDs and values of matches in order. Further conditions are added to those of the listing. */
  #walk(direction: SqlFragment, { limit, offset }: Bounds, further: SqlFragment[] = []): SqlFragment {
    const { from, id, order, conditions, alternatives = [] } = this.#listing
    // Ordering by an ID twice would sort what an index has in order.
    const orderBy = (value: SqlFragment, thenBy: SqlFragment) =>
      order.kind === 'id'
        ? sqlFragment`order by ${value} ${direction}`
        : sqlFragment`order by ${value} ${direction}, ${thenBy} ${direction}`
    // Numbers instead of parameters: a plan for all values would assume a tenth of the rows.
    const end = sqlText(`limit ${limit} offset ${offset}`)
    const isOwn = sqlFragment`t.tenant_id = ${this.#scope.tenantId}`
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

  #isAfter(after: Position): SqlFragment {
    const { id, order } = this.#listing
    const operator = order.direction === 'asc' ? sqlFragment`>` : sqlFragment`<`
    return sqlFragment`(${order.value}, ${id}) ${operator} (${after.value}::${TYPES[order.kind]}, ${after.id}::uuid)`
  }

  /** The best plan of a filter depends on its values, and that of a deep page on its depth; others are planned once. */
  #readItems(total: SqlFragment, ids: SqlFragment, offset: number, matches = sqlFragment``): Promise<Row<Item>[]> {
    const { name, item, total: keptTotal } = this.#listing
    const { tenantId } = this.#scope
    const isPrepared = keptTotal instanceof SqlFragment && offset === 0
    return this.#scope.sql<Row<Item>>(name, { isPrepared })`${matches}
      select counted.total as page_total, page.id as page_id, page.value as page_value, ${item.columns(tenantId)}
      from (${total}) counted left join (${ids}) page on true
      left join ${item.table} on ${item.table}.tenant_id = ${tenantId} and ${item.table}.id = page.id
      order by page.value ${this.#direction}, page.id ${this.#direction}`
  }

  #toPage(rows: Row<Item>[], limit: number): Page<Item> {
    const items = rows.filter(({ pageId }) => pageId !== null)
    return {
      items: items.slice(0, limit),
      total: rows[0]?.pageTotal ?? 0,
      ...(items.length > limit ? this.#cursorAfter(items[limit - 1]) : {}),
    }
  }

  #cursorAfter(row: Row<Item> | undefined): { nextCursor?: string } {
    if (!row?.pageId) return {}
    const { pageId: id, pageValue } = row
    const value =
      pageValue instanceof Date ? pageValue.toISOString() : String(pageValue === -Infinity ? NO_TIME : pageValue)
    return { nextCursor: toCursor(this.#listing.order.sort, { value, id }) }
  }
}

function selectTotal(total: SqlFragment | number): SqlFragment {
  return typeof total === 'number' ? sqlFragment`select ${total}::int as total` : sqlFragment`select ${total} as total`
}
