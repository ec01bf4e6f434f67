import { selectRows } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { type Position, parseCursor, toCursor } from './cursor.ts'

/** Matches of a filter are counted up to this number: the cost of a count does not grow with the data. */
export const TOTAL_MAX = 10_000

/** Time of rows without one: it orders them last among the newest first. */
export const NO_TIME = '-infinity'

/** An offset above this is walked from the nearer end of the list. */
const NEAR = 1000

export type Order = {
  /** Name that a client chooses the order by; part of the cursor. */
  sort: string
  /** SQL over the row, of an index that starts with the tenant and ends with the ID. Never null. */
  value: string
  kind: 'text' | 'time' | 'id'
  direction: 'asc' | 'desc'
}

/** The order of the rows `t`, those that were created last first. */
export const NEWEST_FIRST: Order = { sort: '-createdAt', value: 't.created_at', kind: 'time', direction: 'desc' }

export type Listing = {
  /** Table of the listed rows, with an alias. */
  from: string
  /** SQL of the ID of a listed row, which decides between rows of equal value and goes in the same direction. */
  id: string
  /** Conditions on the listed rows, all of which hold. The first names `:tenantId`. */
  conditions: string[]
  /** Conditions of which one holds. Each is read by an index scan of its own, and the scans are merged. */
  alternatives?: string[]
  order: Order
  /** SQL of the kept number of rows that match; without it the matches are counted up to `TOTAL_MAX`. */
  total?: string | undefined
  /** What is selected for the IDs of the page: the table with its alias, and columns. */
  item: { from: string; id: string; columns: string }
  bindings: Bindings
}

type Bindings = Record<string, string | number | boolean | string[] | Date | null>
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
  const after =
    input.cursor === undefined ? undefined : parseCursor(input.cursor, listing.order.sort, listing.order.kind)
  const read = new PageReader<Item>(scope, listing, after)
  if (listing.total !== undefined) {
    if (after || offset <= NEAR) return read.forward(listing.total, { limit, offset })
    const total = await read.total(listing.total)
    if (offset < total / 2 || offset >= total) return read.forward(String(total), { limit, offset })
    return read.backward(total, { limit, offset })
  }
  const page = await read.matches({ limit, offset })
  return page.total <= TOTAL_MAX
    ? page
    : { ...(await read.forward(String(TOTAL_MAX), { limit, offset })), totalCapped: true }
}

const TYPES = { text: 'text', time: 'timestamptz', id: 'uuid' }

class PageReader<Item> {
  readonly #scope: Scope
  readonly #listing: Listing
  readonly #bindings: Bindings
  readonly #after: Position | undefined

  constructor(scope: Scope, listing: Listing, after: Position | undefined) {
    this.#scope = scope
    this.#listing = listing
    this.#after = after
    this.#bindings = {
      ...listing.bindings,
      tenantId: scope.tenantId,
      ...(after ? { afterValue: after.value, afterId: after.id } : {}),
    }
  }

  async total(sql: string): Promise<number> {
    const [row] = await selectRows<{ total: number }>(this.#scope.db, `select ${sql} as total`, this.#bindings)
    return row?.total ?? 0
  }

  async forward(total: string, { limit, offset }: Bounds): Promise<Page<Item>> {
    const { direction } = this.#listing.order
    const reach = `${limit + 1 + offset}`
    const scans = this.#scans(`order by ${this.#sortBy(direction)} limit ${reach}`, [this.#afterSql()])
    const walk = `select id, value from (${scans}) merged order by value ${direction}, id ${direction}
      limit ${limit + 1} offset ${offset}`
    return this.#toPage(await this.#select(`select ${total} as total`, walk), limit)
  }

  /** Walks from the end of the list. */
  async backward(total: number, { limit, offset }: Bounds): Promise<Page<Item>> {
    const direction = this.#listing.order.direction === 'asc' ? 'desc' : 'asc'
    const rest = Math.max(0, total - offset - limit)
    const count = Math.min(limit, total - offset)
    const scans = this.#scans(`order by ${this.#sortBy(direction)} limit ${rest + count}`, [])
    const walk = `select id, value from (${scans}) merged order by value ${direction}, id ${direction}
      limit ${count} offset ${rest}`
    const rows = await this.#select(`select ${total} as total`, walk)
    return { ...this.#toPage(rows, limit), nextCursor: rest > 0 ? this.#cursorAfter(rows.at(-1)) : null }
  }

  /** Reads all matches, at most one more than are counted, and of these the page. */
  async matches({ limit, offset }: Bounds): Promise<Page<Item>> {
    const { direction } = this.#listing.order
    const matches = `select * from (${this.#scans(`limit ${TOTAL_MAX + 1}`, [])}) merged limit ${TOTAL_MAX + 1}`
    const after = this.#after ? `where ${this.#compare('value', 'id')}` : ''
    const walk = `select id, value from matches ${after} order by value ${direction}, id ${direction}
      limit ${limit + 1} offset ${offset}`
    const rows = await this.#select('select count(*)::int as total from matches', walk, matches)
    return this.#toPage(rows, limit)
  }

  #sortBy(direction: string): string {
    const { id, order } = this.#listing
    return `${order.value} ${direction}, ${id} ${direction}`
  }

  #afterSql(): string {
    return this.#after ? this.#compare(this.#listing.order.value, this.#listing.id) : ''
  }

  #compare(value: string, id: string): string {
    const { kind, direction } = this.#listing.order
    return `(${value}, ${id}) ${direction === 'asc' ? '>' : '<'} (:afterValue::${TYPES[kind]}, :afterId::uuid)`
  }

  #scans(end: string, further: string[]): string {
    const { from, id, order, conditions, alternatives = [''] } = this.#listing
    return alternatives
      .map((alternative) => [...conditions, alternative, ...further].filter((condition) => condition !== ''))
      .map((all) => `(select ${id} as id, ${order.value} as value from ${from} where ${all.join(' and ')} ${end})`)
      .join(' union all ')
  }

  #select(total: string, walk: string, matches?: string): Promise<Row<Item>[]> {
    const { item, order } = this.#listing
    return selectRows<Row<Item>>(
      this.#scope.db,
      `${matches === undefined ? '' : `with matches as materialized (${matches})`}
       select counted.total as page_total, page.id as page_id, page.value as page_value, ${item.columns}
       from (${total}) counted left join (${walk}) page on true
       left join ${item.from} on ${item.from.split(' ').at(-1)}.tenant_id = :tenantId and ${item.id} = page.id
       order by page.value ${order.direction}, page.id ${order.direction}`,
      this.#bindings,
    )
  }

  #toPage(rows: Row<Item>[], limit: number): Page<Item> {
    const items = rows.filter(({ pageId }) => pageId !== null)
    const nextCursor = items.length > limit ? this.#cursorAfter(items[limit - 1]) : null
    return { items: items.slice(0, limit), total: rows[0]?.pageTotal ?? 0, totalCapped: false, nextCursor }
  }

  #cursorAfter(row: Row<Item> | undefined): string | null {
    if (!row?.pageId) return null
    const { pageId: id, pageValue } = row
    const value =
      pageValue instanceof Date ? pageValue.toISOString() : String(pageValue === -Infinity ? NO_TIME : pageValue)
    return toCursor(this.#listing.order.sort, { value, id })
  }
}
