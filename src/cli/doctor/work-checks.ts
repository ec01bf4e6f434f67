import { listWrongCounts, type WrongCount } from '../../features/counts/maintain-counts.ts'
import { DELIVERY_UNKNOWN } from '../../features/outbound/message-status.ts'
import { maySendSql } from '../../features/channels/load-channel.ts'
import type { Database } from '../../platform/database/database.ts'
import { createSqlTag } from '../../platform/database/sql.ts'
import { assertNamesTenant, type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import { addMs, MINUTE } from '../../platform/time.ts'
import { acrossTenants, type Check, counted, type Finding, ok, one, problem, type Subject, warning } from './check.ts'

/** Workspaces whose rows are looked at, chosen by chance. */
const SAMPLE = 20
/** Newest messages of a workspace that are looked at. */
const MESSAGES_MAX = 1000
/** Rows that are counted. */
const COUNT_MAX = 1000
const OVERDUE_MS = MINUTE

/** Checks of the rows. */
export const WORK_CHECKS: Check[] = [
  { name: 'counts', run: checkCounts },
  { name: 'due-work', run: checkDueWork },
  { name: 'dead-letters', run: checkDeadLetters },
  { name: 'unknown-deliveries', run: checkUnknownDeliveries },
]

async function checkCounts({ db }: Subject): Promise<Finding> {
  const tenantIds = await sampleTenants(db)
  const wrong: WrongCount[] = []
  let compared = 0
  for (const tenantId of tenantIds) {
    const found = await listWrongCounts(db, tenantId)
    if (found === null) continue
    compared += 1
    wrong.push(...found)
  }
  const [first] = wrong
  if (first)
    return problem(
      `Kept numbers differ from the rows, such as ${first.counter}: ${first.kept} instead of ${first.counted}. Run "parley doctor --repair counts"`,
    )
  return ok(`The kept numbers of ${counted(compared, 'workspace')} are those of the rows`)
}

async function sampleTenants(db: Database): Promise<string[]> {
  const rows = await createSqlTag<{ id: string }>(db, 'sampleWorkspaces')`
    select id from workspaces where deleted_at is null order by random() limit ${SAMPLE}`
  return rows.map(({ id }) => id)
}

type Due = { kind: string; rows: (before: Date) => SqlFragment }

/** Work by the time from which it is due. What is due at once has a due time long ago, so its age counts. */
const DUE_WORK: Due[] = [
  {
    kind: 'mailbox item',
    rows: (before) => sqlFragment`select greatest(due_at, created_at) as due_at from mailbox_items
      where due_at <= ${before} and created_at <= ${before}`,
  },
  {
    kind: 'message in the outbox',
    rows: (before) => sqlFragment`select greatest(o.not_before, o.created_at) as due_at from outbox o
      join channels ch on ch.tenant_id = o.tenant_id and ch.id = o.channel_id
      where o.not_before <= ${before} and o.created_at <= ${before} and ${maySendSql(before)}`,
  },
  { kind: 'timer', rows: (before) => sqlFragment`select due_at from run_waits where due_at <= ${before}` },
  {
    kind: 'scheduled message',
    rows: (before) => sqlFragment`select release_at as due_at from messages where release_at <= ${before}`,
  },
  {
    kind: 'external call',
    rows: (before) => sqlFragment`select greatest(due_at, created_at) as due_at from external_calls
      where due_at <= ${before} and created_at <= ${before}`,
  },
  {
    kind: 'broadcast',
    rows: (before) => sqlFragment`select work_at as due_at from broadcasts where work_at <= ${before}`,
  },
]

async function checkDueWork({ db }: Subject): Promise<Finding> {
  const { now, processes } = await one(
    createSqlTag<{ now: Date; processes: number }>(db, 'countProcesses')`
      select now() as now, count(*)::int as processes from pg_stat_activity
      where datname = current_database() and application_name in ('parley engine', 'parley jobs', 'parley background')`,
  )
  const before = addMs(now, -OVERDUE_MS)
  const late: string[] = []
  for (const { kind, rows } of DUE_WORK) {
    const { count, oldest } = await one(
      acrossTenants<{ count: number; oldest: Date | null }>(db, 'countDueWork')`
        select count(*)::int as count, min(due_at) as oldest from (${rows(before)} limit ${COUNT_MAX}) due`,
    )
    if (oldest === null) continue
    const minutes = Math.floor((now.getTime() - oldest.getTime()) / MINUTE)
    late.push(`${kind}: ${counted(count, 'row', COUNT_MAX)}, due for ${counted(minutes, 'minute')}`)
  }
  if (late.length === 0) return ok('No work has been due for more than a minute')
  const text = `Work has been due for more than a minute. ${late.join('; ')}`
  return processes === 0
    ? warning(`${text}. No process of Parley is connected: start one with the role worker`)
    : problem(`${text}. Read the log of the workers, or start more of them`)
}

async function checkDeadLetters({ db }: Subject): Promise<Finding> {
  const { count } = await one(
    acrossTenants<{ count: number }>(db, 'countAllDeadLetters')`
      select count(*)::int as count from (select tenant_id from dead_letters limit ${COUNT_MAX}) letters`,
  )
  if (count === 0) return ok('No message, event or timer failed for good')
  return problem(
    `${counted(count, 'dead letter', COUNT_MAX)}: messages, events or timers failed five times. Remove the reason in the log, then retry or discard them with /api/dead-letters`,
  )
}

async function checkUnknownDeliveries({ db }: Subject): Promise<Finding> {
  let count = 0
  for (const tenantId of await sampleTenants(db)) {
    const sql = createSqlTag<{ count: number }>(db, 'countUnknownDeliveries', (statement) =>
      assertNamesTenant(statement, tenantId),
    )
    const unknown = await one(sql`
      select count(*)::int as count from (
        select status, error from messages where tenant_id = ${tenantId} order by id desc limit ${MESSAGES_MAX}) newest
      where status = 'failed' and error ->> 'code' = ${DELIVERY_UNKNOWN}`)
    count += unknown.count
  }
  if (count === 0) return ok(`No delivery is unknown among the newest messages of ${SAMPLE} workspaces`)
  return warning(
    `The delivery of ${counted(count, 'message')} is unknown (delivery_unknown). They are not sent again: ask the customers`,
  )
}
