import { fromWallTime, toWallTime } from '../../platform/calendar/zoned-time.ts'
import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { BudgetExceededError, InvalidError } from '../../platform/errors.ts'
import { DAY } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { countSql } from '../counts/count-sql.ts'
import { FILE_BYTES_MIN, readStoredMedia } from '../media/media-quota.ts'
import { type GetUsage, USAGE_DAYS_DEFAULT, USAGE_DAYS_MAX, type WorkspaceUsage } from './schema.ts'
import { getWorkspace } from './settings.ts'

/** Days of a calendar, as milliseconds of their beginnings in UTC. */
type Range = { from: number; to: number }

type Day = { date: string; startsAt: Date }
type Counts = { day: number; first: number; second: number; total: number }

/** Rows that are counted by their time: what is read of each, and two numbers of a day. */
type Counted = { table: SqlFragment; column: SqlFragment; first: SqlFragment; second: SqlFragment }

const MESSAGES: Counted = {
  table: sqlFragment`messages`,
  column: sqlFragment`direction`,
  first: sqlFragment`count(*) filter (where direction = 'inbound')`,
  second: sqlFragment`count(*) filter (where direction = 'outbound')`,
}
const RUNS: Counted = {
  table: sqlFragment`runs`,
  column: sqlFragment`id`,
  first: sqlFragment`count(*)`,
  second: sqlFragment`0::bigint`,
}
const FILES: Counted = {
  table: sqlFragment`media`,
  column: sqlFragment`bytes`,
  first: sqlFragment`count(*)`,
  second: sqlFragment`coalesce(sum(greatest(bytes, ${FILE_BYTES_MIN}::bigint)), 0)::bigint`,
}

/** Counts what exists. The indexes of the time of creation are right for rows of all programs, on a distributed database too. */
export async function getUsage(scope: Scope, input: GetUsage): Promise<WorkspaceUsage> {
  const { timezone } = await getWorkspace(scope)
  const { from, to } = toRange(input, toWallTime(scope.now().getTime(), timezone))
  const days = listDays({ from, to: to + DAY }, timezone)
  const messages = await countByDay(scope, 'countMessagesOfDays', MESSAGES, days)
  const runs = await countByDay(scope, 'countRunsOfDays', RUNS, days)
  const files = await countByDay(scope, 'countFilesOfDays', FILES, days)
  return {
    timezone,
    from: toDate(from),
    to: toDate(to),
    days: days.slice(0, -1).map(({ date }, index) => ({
      date,
      inboundMessages: messages[index]?.first ?? 0,
      outboundMessages: messages[index]?.second ?? 0,
      runs: runs[index]?.first ?? 0,
      files: files[index]?.first ?? 0,
      fileBytes: files[index]?.second ?? 0,
    })),
    stored: await countStored(scope),
  }
}

/** @throws InvalidError */
function toRange(input: GetUsage, nowMs: number): Range {
  const to = input.to === undefined ? Math.floor(nowMs / DAY) * DAY : Date.parse(input.to)
  const from = input.from === undefined ? to - (USAGE_DAYS_DEFAULT - 1) * DAY : Date.parse(input.from)
  if (from > to) throw invalidFrom(`must not be after \`to\`, which is ${toDate(to)}`)
  const days = (to - from) / DAY + 1
  if (days > USAGE_DAYS_MAX)
    throw invalidFrom(`must be at most ${USAGE_DAYS_MAX} days from \`to\`, with both: these are ${days} days`)
  return { from, to }
}

function invalidFrom(message: string): InvalidError {
  return new InvalidError(`from ${message}`, [{ path: 'from', message }])
}

function listDays({ from, to }: Range, timezone: string): Day[] {
  return Array.from({ length: (to - from) / DAY + 1 }, (_, index) => {
    const start = from + index * DAY
    return { date: toDate(start), startsAt: new Date(fromWallTime(start, timezone)) }
  })
}

function toDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/**
 * Counts the rows of each day but the last one, by a scan of its part of an index. No day is begun after there were more
 * than the budget.
 * @throws BudgetExceededError
 */
async function countByDay(scope: Scope, name: string, counted: Counted, days: Day[]): Promise<Counts[]> {
  const { table, column, first, second } = counted
  const max = scope.portions.usage
  const starts = sqlFragment`(${days.map(({ startsAt }) => startsAt.toISOString())}::timestamptz[])`
  const rows = await scope.sql<Counts>(name)`
    with recursive counted (day, first, second, total) as (
      select 0, 0::bigint, 0::bigint, 0::bigint
      union all
      select c.day + 1, d.first, d.second, c.total + d.rows
      from counted c
      cross join lateral (
        select count(*) as rows, ${first} as first, ${second} as second from (
          select ${column} from ${table} t where t.tenant_id = ${scope.tenantId}
            and t.created_at >= ${starts}[c.day + 1] and t.created_at < ${starts}[c.day + 2]
          limit ${max + 1}) r) d
      where c.day < ${days.length - 1}::int and c.total <= ${max}::bigint)
    select day, first, second, total from counted where day > 0 order by day`
  if ((rows.at(-1)?.total ?? 0) <= max) return rows
  throw new BudgetExceededError(`At most ${max} rows of a kind are counted for a period. Ask for fewer days`)
}

async function countStored(scope: Scope): Promise<WorkspaceUsage['stored']> {
  const { tenantId } = scope
  const [row] = await scope.sql<{ contacts: number; conversations: number }>('countStored')`
    select ${countSql(tenantId, 'contacts', tenantId)} as contacts,
      ${countSql(tenantId, 'conversations', tenantId)} as conversations`
  const { count: files, bytes: fileBytes } = await readStoredMedia(scope)
  return { contacts: row?.contacts ?? 0, conversations: row?.conversations ?? 0, files, fileBytes }
}
