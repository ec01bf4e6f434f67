import { SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { type AnchoredList, anchorJob, ANCHORS } from './anchors/anchored-list.ts'
import { type Anchor, findAnchor } from './anchors/find-anchor.ts'
import { type Position, parseCursor, toCursor, toTimeText } from './cursor.ts'
import type { ItemSource } from './read-items.ts'
import { type Direction, DIRECTIONS, type ListRows, matchesSql, type Order, walkSql } from './walk.ts'

/** Matches of a filter are counted up to this number. */
export const TOTALS = { max: 100_000 }

/** Up to this number of matches are counted while the page is read. More are counted by a statement of their own. */
const COUNTED_WITH_PAGE = 1000

/** An offset above this is walked from the nearest row whose place is known: an anchor, or an end of the list. */
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
  /** The kept number of rows that match, or how to read it. Without it the matches are counted. */
  total?: SqlFragment | number | undefined
  /** Number of matches that are read for a page at least, and counted; fewer if reading them in order costs more. */
  countedWithPage?: number
  /** The list whose anchors are used, if all of its rows match. Requires a total. */
  anchored?: AnchoredList | undefined
  item: ItemSource
}

type Bounds = { limit: number; offset: number }
type PageInput = Bounds & { cursor?: string | undefined }
type Row<Item> = Item & { pageTotal: number; pageId: string | null; pageValue: Date | string | number }

/**
 * Reads one page of a list: first the IDs by an index, then what is shown of them. Its cost depends on the limit and, in the
 * middle of a list without anchors, on the offset; not on the number of rows.
 * @throws InvalidError if the cursor is not one of this list
 */
export async function readPage<Item>(scope: Scope, listing: Listing, input: PageInput): Promise<Page<Item>> {
  const { limit, offset } = input
  const { total, order } = listing
  const after = input.cursor === undefined ? undefined : parseCursor(input.cursor, order.sort, order.kind)
  const reader = new PageReader<Item>(scope, listing, after)
  if (total === undefined) return readMatches(reader, listing, { limit, offset, isFirst: !after })
  if (after || offset <= NEAR) return reader.readForward(total, { limit, offset })
  const start = await reader.findStart(total, { limit, offset })
  // Read nevertheless: the rows decide where the list ends, and not the kept number.
  if (offset >= start.total) return reader.readForward(start.total, { limit, offset })
  return start.isEnd
    ? reader.readBackward(start, { limit, offset })
    : reader.readForward(start.total, { limit, offset: start.skipped }, start.anchor)
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

/** The place where the walk to a page begins, an anchor or an end of the list, and the rows that it skips from there. */
type Start = { total: number; anchor: Anchor | undefined; isEnd: boolean; skipped: number }

function toStart(total: number, { limit, offset }: Bounds, direction: Direction, anchor?: Anchor): Start {
  const before = direction === 'asc' ? offset - (anchor?.rank ?? 0) : (anchor?.rank ?? total) - (total - offset)
  const behind = Math.max(0, total - offset - limit)
  return { total, anchor, isEnd: behind < before, skipped: Math.min(before, behind) }
}

const TYPES = { text: sqlFragment`text`, time: sqlFragment`timestamptz`, id: sqlFragment`uuid` }

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

  /** Finds the nearest row whose place is known. A page that is far from it asks for more anchors. */
  async findStart(total: SqlFragment | number, bounds: Bounds): Promise<Start> {
    const { anchored, order } = this.#listing
    const { direction } = order
    if (!anchored) return toStart(await this.#readTotal(total), bounds, direction)
    const { offset } = bounds
    const found = await findAnchor(this.#scope, anchored, { total: toSql(total), offset, direction })
    const start = toStart(found.total, bounds, direction, found.anchor)
    if (start.skipped > 2 * ANCHORS.spacing || found.isOutdated) {
      await this.#scope.enqueue(anchorJob(this.#scope.tenantId, anchored))
    }
    return start
  }

  async #readTotal(total: SqlFragment | number): Promise<number> {
    if (typeof total === 'number') return total
    const [row] = await this.#scope.sql<{ total: number }>(`${this.#listing.name}.total`)`select ${total} as total`
    return row?.total ?? 0
  }

  /** Returns the SQL of the number of matches, at most one more than `max`. */
  countMatches(max: number): SqlFragment {
    return sqlFragment`(select count(*)::int from (${matchesSql(this.#scope.tenantId, this.#listing, max + 1)}) matches)`
  }

  async readForward(total: SqlFragment | number, { limit, offset }: Bounds, anchor?: Anchor): Promise<Page<Item>> {
    const start = anchor ? [this.#isFromAnchor(anchor)] : this.#after ? [this.#isAfter(this.#after)] : []
    const ids = this.#walk({ limit: limit + 1, offset }, start)
    return this.#toPage(await this.#readItems(selectTotal(total), ids, offset), limit)
  }

  /** Walks from the end of the list. */
  async readBackward({ total, skipped }: Start, { limit, offset }: Bounds): Promise<Page<Item>> {
    const direction = this.#listing.order.direction === 'asc' ? 'desc' : 'asc'
    const bounds = { limit: Math.min(limit, total - offset), offset: skipped }
    const ids = walkSql(this.#scope.tenantId, this.#listing, { direction, ...bounds })
    const rows = await this.#readItems(selectTotal(total), ids, offset)
    return { ...this.#toPage(rows, limit), ...(skipped > 0 ? this.#cursorAfter(rows.at(-1)) : {}) }
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
    return this.#compare(this.#listing.order.direction === 'asc' ? sqlFragment`>` : sqlFragment`<`, after)
  }

  /** Returns the condition of the rows from an anchor on, which is the first of them if the newest come first. */
  #isFromAnchor({ value, id }: Anchor): SqlFragment {
    const { kind, direction } = this.#listing.order
    const operator = direction === 'asc' ? sqlFragment`>` : sqlFragment`<=`
    return this.#compare(operator, { value: kind === 'id' ? id : toTimeText(value), id })
  }

  #compare(operator: SqlFragment, { value, id }: Position): SqlFragment {
    const { id: ownId, order } = this.#listing
    return sqlFragment`(${order.value}, ${ownId}) ${operator} (${value}::${TYPES[order.kind]}, ${id}::uuid)`
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
    const isTime = pageValue instanceof Date || pageValue === -Infinity
    const value = isTime ? toTimeText(pageValue) : String(pageValue)
    return { nextCursor: toCursor(this.#listing.order.sort, { value, id }) }
  }
}

function selectTotal(total: SqlFragment | number): SqlFragment {
  return sqlFragment`select ${toSql(total)} as total`
}

function toSql(total: SqlFragment | number): SqlFragment {
  return typeof total === 'number' ? sqlFragment`${total}::int` : total
}
