import { joinFragments, sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { NO_TIME, type Position, parseCursor, toCursor, type ValueKind } from './cursor.ts'
import type { ItemSource } from './read-items.ts'

/** Matches of a filter are counted up to this number: the cost of a count does not grow with the data. */
export const TOTAL_MAX = 10_000

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
  /** The kept number of rows that match, or how to read it. Without it the matches are counted up to `TOTAL_MAX`. */
  total?: SqlFragment | number | undefined
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
  const { total, order } = listing
  const after = input.cursor === undefined ? undefined : parseCursor(input.cursor, order.sort, order.kind)
  const reader = new PageReader<Item>(scope, listing, after)
  if (total === undefined) {
    const page = await reader.readMatches({ limit, offset })
    if (page.total <= TOTAL_MAX) return page
    return { ...(await reader.readForward(TOTAL_MAX, { limit, offset })), totalCapped: true }
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

  constructor(scope: Scope, listing: Listing, after: Position | undefined) {
    this.#scope = scope
    this.#listing = listing
    this.#after = after
  }

  async readTotal(total: SqlFragment): Promise<number> {
    const [row] = await this.#scope.sql<{ total: number }>(`${this.#listing.name}.total`)`select ${total} as total`
    return row?.total ?? 0
  }

  async readForward(total: SqlFragment | number, { limit, offset }: Bounds): Promise<Page<Item>> {
    const { value, direction } = this.#listing.order
    const after = this.#after ? [this.#isAfter(this.#after, value, this.#listing.id)] : []
    return this.#toPage(await this.#walk(total, DIRECTIONS[direction], { limit: limit + 1, offset }, after), limit)
  }

  /** Walks from the end of the list. */
  async readBackward(total: number, { limit, offset }: Bounds): Promise<Page<Item>> {
    const direction = this.#listing.order.direction === 'asc' ? DIRECTIONS.desc : DIRECTIONS.asc
    const rest = Math.max(0, total - offset - limit)
    const rows = await this.#walk(total, direction, { limit: Math.min(limit, total - offset), offset: rest }, [])
    return { ...this.#toPage(rows, limit), ...(rest > 0 ? this.#cursorAfter(rows.at(-1)) : {}) }
  }

  /** Reads all matches, at most one more than are counted, and of these the page. */
  async readMatches({ limit, offset }: Bounds): Promise<Page<Item>> {
    const end = sqlFragment`limit ${TOTAL_MAX + 1}`
    const matches = sqlFragment`with matches as materialized (select * from (${this.#scans(end, [])}) merged ${end})`
    const after = this.#after
      ? sqlFragment`where ${this.#isAfter(this.#after, sqlFragment`value`, sqlFragment`id`)}`
      : sqlFragment``
    const direction = DIRECTIONS[this.#listing.order.direction]
    const ids = sqlFragment`select id, value from matches ${after} order by value ${direction}, id ${direction}
      limit ${limit + 1} offset ${offset}`
    const rows = await this.#readItems(sqlFragment`select count(*)::int as total from matches`, ids, matches)
    return this.#toPage(rows, limit)
  }

  #walk(
    total: SqlFragment | number,
    direction: SqlFragment,
    { limit, offset }: Bounds,
    conditions: SqlFragment[],
  ): Promise<Row<Item>[]> {
    const { id, order } = this.#listing
    const end = sqlFragment`order by ${order.value} ${direction}, ${id} ${direction} limit ${limit + offset}`
    const ids = sqlFragment`select id, value from (${this.#scans(end, conditions)}) merged
      order by value ${direction}, id ${direction} limit ${limit} offset ${offset}`
    return this.#readItems(
      typeof total === 'number' ? sqlFragment`select ${total}::int as total` : sqlFragment`select ${total} as total`,
      ids,
    )
  }

  #isAfter(after: Position, value: SqlFragment, id: SqlFragment): SqlFragment {
    const { kind, direction } = this.#listing.order
    const operator = direction === 'asc' ? sqlFragment`>` : sqlFragment`<`
    return sqlFragment`(${value}, ${id}) ${operator} (${after.value}::${TYPES[kind]}, ${after.id}::uuid)`
  }

  #scans(end: SqlFragment, further: SqlFragment[]): SqlFragment {
    const { from, id, order, conditions, alternatives } = this.#listing
    const isOwn = sqlFragment`t.tenant_id = ${this.#scope.tenantId}`
    const scans = (alternatives?.map((alternative) => [alternative]) ?? [[]]).map((alternative) => {
      const all = joinFragments([isOwn, ...conditions, ...alternative, ...further], ' and ')
      return sqlFragment`(select ${id} as id, ${order.value} as value from ${from} t where ${all} ${end})`
    })
    return joinFragments(scans, ' union all ')
  }

  #readItems(total: SqlFragment, ids: SqlFragment, matches = sqlFragment``): Promise<Row<Item>[]> {
    const { name, order, item } = this.#listing
    const { tenantId } = this.#scope
    const direction = DIRECTIONS[order.direction]
    return this.#scope.sql<Row<Item>>(name)`${matches}
      select counted.total as page_total, page.id as page_id, page.value as page_value, ${item.columns(tenantId)}
      from (${total}) counted left join (${ids}) page on true
      left join ${item.table} on ${item.table}.tenant_id = ${tenantId} and ${item.table}.id = page.id
      order by page.value ${direction}, page.id ${direction}`
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
