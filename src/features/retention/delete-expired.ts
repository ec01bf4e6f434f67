import { addMs, DAY, SECOND } from '../../platform/time.ts'
import type { SystemScope } from '../../scope.ts'
import { EXPIRIES, type Portion } from './expired-rows.ts'
import { PutRetention, Retention } from './schema.ts'

/** No portion is started after this time; the next run of the task goes on. */
const RUN_MAX_MS = 30 * SECOND

type Walk = { tenantId: string; kind: keyof Retention; before: Date; after: Portion['next'] }

/**
 * Deletes what is older than the retention of its workspace, and logs how many rows of which table. Workspaces take turns,
 * portion by portion, and each portion commits on its own: an interrupted run leaves nothing half deleted.
 */
export async function deleteExpired(system: SystemScope): Promise<void> {
  const end = addMs(system.now(), RUN_MAX_MS)
  const totals = new Map<string, Record<string, number>>()
  try {
    let walks = await listWalks(system)
    while (walks.length > 0 && system.now() < end) walks = await deletePortions(system, walks, totals)
  } finally {
    for (const [workspaceId, deleted] of totals) system.log.info({ workspaceId, deleted }, 'old rows deleted')
  }
}

const KINDS = Retention.keyof().options

async function listWalks(system: SystemScope): Promise<Walk[]> {
  const workspaces = await system.sql<{ tenantId: string; retention: unknown }>('listRetentions')`
    select id as tenant_id, retention from workspaces where retention is not null order by random()`
  return workspaces.flatMap(({ tenantId, retention }) => {
    const days = PutRetention.parse(retention)
    return KINDS.flatMap((kind) => {
      const before = days[kind] === null ? null : addMs(system.now(), -days[kind] * DAY)
      return before ? [{ tenantId, kind, before, after: null }] : []
    })
  })
}

/** Deletes one portion of each walk, and returns the walks that have more. A walk that fails ends. */
async function deletePortions(
  system: SystemScope,
  walks: Walk[],
  totals: Map<string, Record<string, number>>,
): Promise<Walk[]> {
  const remaining: Walk[] = []
  for (const walk of walks) {
    const { tenantId, kind } = walk
    try {
      const { deleted, next } = await system.forTenant(tenantId).transaction((tx) => EXPIRIES[kind](tx, walk))
      for (const [table, count] of Object.entries(deleted)) {
        const total = totals.get(tenantId) ?? {}
        if (count > 0) totals.set(tenantId, { ...total, [table]: (total[table] ?? 0) + count })
      }
      if (next) remaining.push({ ...walk, after: next })
    } catch (error) {
      system.log.warn(
        { err: error, workspaceId: tenantId, kind },
        'old rows could not be deleted and will be tried again',
      )
    }
  }
  return remaining
}
