import { SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { NO_TIME, type Position, parseCursor, toCursor } from './cursor.ts'
import type { ItemSource } from './read-items.ts'
import { DIRECTIONS, type ListRows, matchesSql, type Order, walkSql } from './walk.ts'

/** Matches of a filter are counted up to this number. */
export const TOTALS = { max: 100_000 }

/** Up to this number of matches are counted while the page is read. More are counted by a statement of their own. */
const COUNTED_WITH_PAGE = 1000

/** An offset above this is walked from the nearer end of the list, if the number of its rows is known exactly. */
const NEAR = 1000

/** The order of the rows `t`, those that were created last first. */
export const NEWEST_FIRST: Order = {
  sort: '-createdAt',
  value: sqlFragment`t.created_at`,
  kind: 'time',
  direction: 'desc',
}

export type Listing = ListRows & {
  /** Name of the statement. */
  name: string
  /** The number of rows that match, or how to read it. Without it the matches are counted. */
  total?: SqlFragment | number | undefined
  /**
   * The same number as triggers keep it, null if none is kept. It is exact in each snapshot, whichever program writes the
   * rows, so pages can be found from the end of the list.
   */
  kept?: SqlFragment | undefined
  /** Number of matches that are read for a page at least, and counted; fewer if reading them in order costs more. */
  countedWithPage?: number
  item: ItemSource
}

type Bounds = { limit: number; offset: number }
type PageInput = Bounds & { cursor?: string | undefined }
type Row<Item> = Item & { pageTotal: number; pageId: string | null; pageValue: Date | string | number }

/**
 * Reads one page of a list: first the IDs by an index, then what is shown of them. Its cost depends on the limit and
 * on the rows that an offset skips from the end where the walk begins, and not on the number of rows.
 * @throws InvalidError if the cursor is not one of this list
 */
export async function readPage<Item>(scope: Scope, listing: Listing, input: PageInput): Promise<Page<Item>> {
  const { limit, offset } = input
  const { total, kept, order } = listing
  const after = input.cursor === undefined ? undefined : parseCursor(input.cursor, order.sort, order.kind)
  const reader = new PageReader<Item>(scope, listing, after)
  if (total === undefined) return readMatches(reader, listing, { limit, offset, isFirst: !after })
  const isFar = kept !== undefined && !after && offset > NEAR
  const page = isFar ? await reader.readBackward(kept, { limit, offset }) : undefined
  return page ?? reader.readForward(total, { limit, offset })
}

/** Reads a page of a list whose matches are counted: few of them with the page, more of them without their order. */
async function readMatches<Item>(
  reader: PageReader<Item>,
  { countedWithPage = COUNTED_WITH_PAGE }: Listing,
  { isFirst, ...bounds }: Bounds & { isFirst: boolean },
): Promise<Page<Item>> {
  if (isFirst && bounds.offset + bounds.limit <= countedWithPage) {
    const page = await reader.readCounted(countedWithPage, bounds)
    if (page.total <= countedWithPage) return page
  }
  const page = await reader.readForward(reader.countMatches(TOTALS.max), bounds)
  return page.total > TOTALS.max ? { ...page, total: TOTALS.max, totalCapped: true } : page
}

const TYPES = {
  text: sqlFragment`text`,
  time: sqlFragment`timestamptz`,
  id: sqlFragment`uuid`,
  number: sqlFragment`bigint`,
}

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

  /** Returns the SQL of the number of matches, at most one more than `max`. */
  countMatches(max: number): SqlFragment {
    return sqlFragment`(select count(*)::int from (${matchesSql(this.#scope.tenantId, this.#listing, max + 1)}) matches)`
  }

  async readForward(total: SqlFragment | number, { limit, offset }: Bounds): Promise<Page<Item>> {
    const ids = this.#walk({ limit: limit + 1, offset }, this.#after ? [this.#isAfter(this.#after)] : [])
    return this.#toPage(await this.#readItems(selectTotal(total), ids, offset), limit)
  }

  /**
   * Walks from the end of the list. Returns undefined if the page is nearer to the beginning or behind the end, if no number
   * is kept, and if the number has changed when the page is read, as it decides how many rows are skipped.
   */
  async readBackward(kept: SqlFragment, { limit, offset }: Bounds): Promise<Page<Item> | undefined> {
    const { name, order } = this.#listing
    const [row] = await this.#scope.sql<{ total: number | null }>(`${name}.total`)`select ${kept} as total`
    const total = row?.total ?? 0
    const skipped = Math.max(0, total - offset - limit)
    if (offset >= total || skipped >= offset) return undefined
    const direction = order.direction === 'asc' ? 'desc' : 'asc'
    const bounds = { limit: Math.min(limit, total - offset), offset: skipped }
    const ids = walkSql(this.#scope.tenantId, this.#listing, { direction, ...bounds })
    const rows = await this.#readItems(selectTotal(kept), ids, offset)
    const page = this.#toPage(rows, limit)
    if (page.total !== total) return undefined
    return { ...page, ...(skipped > 0 ? this.#cursorAfter(rows.at(-1)) : {}) }
  }

  /** Reads the first matches once, at most one more than `max`: they are counted, and the page is a part of them. */
  async readCounted(max: number, { limit, offset }: Bounds): Promise<Page<Item>> {
    const matches = sqlFragment`with matches as materialized (${this.#walk({ limit: max + 1, offset: 0 })})`
    const total = sqlFragment`select count(*)::int as total from matches`
    const ids = sqlFragment`select id, value from matches
      order by value ${this.#direction}, id ${this.#direction} limit ${limit + 1} offset ${offset}`
    return this.#toPage(await this.#readItems(total, ids, offset, matches), limit)
  }

  #walk(bounds: Bounds, further: SqlFragment[] = []): SqlFragment {
    const { direction } = this.#listing.order
    return walkSql(this.#scope.tenantId, this.#listing, { direction, ...bounds }, further)
  }

  #isAfter(after: Position): SqlFragment {
    const { id, order } = this.#listing
    const operator = order.direction === 'asc' ? sqlFragment`>` : sqlFragment`<`
    return sqlFragment`(${order.value}, ${id}) ${operator} (${after.value}::${TYPES[order.kind]}, ${after.id}::uuid)`
  }

  /** The best plan of a filter depends on its values, and that of a deep page on its depth; others are planned once. */
  #readItems(counted: SqlFragment, ids: SqlFragment, offset: number, matches = sqlFragment``): Promise<Row<Item>[]> {
    const { name, item, total } = this.#listing
    const { tenantId } = this.#scope
    const isPrepared = total instanceof SqlFragment && offset === 0
    return this.#scope.sql<Row<Item>>(name, { isPrepared })`${matches}
      select counted.total as page_total, page.id as page_id, page.value as page_value, ${item.columns(tenantId)}
      from (${counted}) counted left join (${ids}) page on true
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
