import { joinFragments, sqlFragment, SqlFragment } from '../../platform/database/statements/statement.ts'
import { definedFields } from '../../platform/fields.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { isOfNoDeletedContactSql } from '../../scope/deleted-contacts.ts'
import { EMPTY_PAGE, type Page } from '../../trpc/schemas.ts'
import { keptSumSql } from '../counts/count-sql.ts'
import { NEWEST_FIRST, readPage } from '../paging/read-page.ts'
import { RUN_SOURCE, type RunDetails, toRun } from './queries.ts'
import { type ListRuns, type Run, RunStatus } from './schema.ts'

/** A workflow with more versions than this is read without splitting by version. */
const VERSIONS_MAX = 100

type RunFilters = Omit<ListRuns, 'limit' | 'offset' | 'cursor' | 'sort'>

const COMPARISONS: Record<Exclude<keyof RunFilters, 'status'>, SqlFragment> = {
  workflowId: sqlFragment`t.workflow_id =`,
  version: sqlFragment`t.workflow_version =`,
  contactId: sqlFragment`t.contact_id =`,
  conversationId: sqlFragment`t.conversation_id =`,
  waitingFor: sqlFragment`t.waiting_for =`,
  replayOf: sqlFragment`t.replay_of =`,
  createdAfter: sqlFragment`t.created_at >=`,
  createdBefore: sqlFragment`t.created_at <`,
}

// Literals: a partial index is used for a constant, but not for every parameter.
const STATUS_CONDITIONS = new Map(
  RunStatus.options.map((status) => [status, new SqlFragment([`t.status = '${status}'`], [])]),
)

/**
 * Lists runs, by default newest first. Each status, and each version of a workflow, is read with its own index scan, so that
 * finding rare ones does not read all the others.
 */
export async function listRuns(
  scope: Scope,
  { limit, offset, cursor, sort, ...filters }: ListRuns,
): Promise<Page<Run>> {
  if (isImpossible(filters)) return EMPTY_PAGE
  const versions = await listVersions(scope, filters)
  if (versions?.length === 0) return EMPTY_PAGE
  const statusConditions = toStatusConditions(filters)
  const byStatus = statusConditions.length > 0 ? statusConditions : [sqlFragment`true`]
  const page = await readPage<RunDetails>(
    scope,
    {
      name: 'listRuns',
      from: sqlFragment`runs`,
      id: sqlFragment`t.id`,
      conditions: toRunConditions(scope.tenantId, filters),
      alternatives: versions
        ? versions.flatMap((version) => byStatus.map((one) => sqlFragment`t.workflow_version = ${version} and ${one}`))
        : byStatus,
      order: { ...NEWEST_FIRST, sort, direction: sort === 'createdAt' ? 'asc' : 'desc' },
      ...toRunTotal(scope.tenantId, filters),
      item: RUN_SOURCE,
    },
    { limit, offset, cursor },
  )
  return { ...page, items: page.items.map(toRun) }
}

/**
 * Versions of the workflow that have runs; undefined if another filter is more selective, or there are too many. Asks for the
 * newest run: to find any run of a version, the planner may read the table from its beginning.
 */
async function listVersions(scope: Scope, filters: RunFilters): Promise<number[] | undefined> {
  const { workflowId, version, contactId, conversationId, replayOf } = filters
  if (workflowId === undefined || [version, contactId, conversationId, replayOf].some((one) => one !== undefined)) {
    return undefined
  }
  const { tenantId } = scope
  const rows = await scope.sql<{ version: number }>('listVersionsWithRuns')`
    select v.version from workflow_versions v cross join lateral (
      select from runs r where r.tenant_id = ${tenantId} and r.workflow_id = ${workflowId} and r.workflow_version = v.version
      order by r.created_at desc, r.id desc limit 1) newest
    where v.tenant_id = ${tenantId} and v.workflow_id = ${workflowId}
    limit ${VERSIONS_MAX + 1}`
  return rows.length > VERSIONS_MAX ? undefined : rows.map((row) => row.version)
}

/** Returns the SQL of the number of runs by workflow, version and status, and of the kept one; nothing for other filters. */
function toRunTotal(tenantId: string, filters: RunFilters) {
  const { status, workflowId, version, ...others } = filters
  if (Object.keys(definedFields(others)).length > 0) return {}
  const isCounted = [sqlFragment`true`]
  if (workflowId !== undefined) isCounted.push(sqlFragment`owner_id = ${workflowId}`)
  if (version !== undefined) isCounted.push(sqlFragment`split_part(key, ':', 1) = ${String(version)}`)
  if (status !== undefined) isCounted.push(sqlFragment`split_part(key, ':', 2) = any(${status})`)
  const hasStatus = status === undefined ? sqlFragment`` : sqlFragment` and t.status = any(${status})`
  const isOfDeleted = joinFragments(
    [
      sqlFragment`t.tenant_id = ${tenantId}`,
      sqlFragment`t.contact_id = gone.contact_id`,
      ...toFilterConditions(filters),
    ],
    ' and ',
  )
  // The kept number has the runs of deleted contacts until they are purged. The order of the join finds them by contact.
  const kept = sqlFragment`(${keptSumSql(tenantId, 'runs', joinFragments(isCounted, ' and '))} - (
    select count(*)::int from contact_purges gone
    cross join lateral (select from runs t where ${isOfDeleted}${hasStatus} offset 0) purged
    where gone.tenant_id = ${tenantId}))`
  const isRun = joinFragments([sqlFragment`t.tenant_id = ${tenantId}`, ...toRunConditions(tenantId, filters)], ' and ')
  return { kept, total: sqlFragment`coalesce(${kept}, (select count(*)::int from runs t where ${isRun}${hasStatus}))` }
}

/** Returns true if no run can match: a malformed ID is treated like an unknown one. */
export function isImpossible({ workflowId, contactId, conversationId, replayOf }: RunFilters): boolean {
  return [workflowId, contactId, conversationId, replayOf].some((id) => id !== undefined && !isUuid(id))
}

/** Converts filters other than the status to conditions on `runs t`, none of which are of a deleted contact. */
export function toRunConditions(tenantId: string, filters: RunFilters): SqlFragment[] {
  return [isOfNoDeletedContactSql(tenantId, 't'), ...toFilterConditions(filters)]
}

function toFilterConditions(filters: RunFilters): SqlFragment[] {
  const values: Record<string, RunFilters[keyof RunFilters]> = filters
  return Object.entries(COMPARISONS).flatMap(([name, comparison]) => {
    const value = values[name]
    return value === undefined ? [] : [sqlFragment`${comparison} ${value}`]
  })
}

/** Returns one condition for each status that a run may have; none if it may have any. One that waits is `waiting`. */
export function toStatusConditions({ status, waitingFor }: RunFilters): SqlFragment[] {
  const statuses = status ?? (waitingFor ? (['waiting'] as const) : [])
  return [...new Set(statuses)].flatMap((one) => STATUS_CONDITIONS.get(one) ?? [])
}
