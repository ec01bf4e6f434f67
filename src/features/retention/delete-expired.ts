import { addMs, DAY, SECOND } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { EXPIRIES, type Portion } from './expired-rows.ts'
import { PutRetention, Retention } from './schema.ts'
import { getRetention } from './settings.ts'

/** No portion is started after this time; the next run of the task goes on. */
const RUN_MAX_MS = 30 * SECOND

type Walk = { tenantId: string; kind: keyof Retention; after: Portion['next'] }

/**
 * Deletes what is older than the retention of its workspace. Workspaces take turns, portion by portion. Each portion commits
 * and is logged on its own, and reads the retention again: an interrupted run leaves nothing half deleted or unreported, and
 * a longer retention holds from the next portion on.
 */
export async function deleteExpired(system: SystemScope): Promise<void> {
  const end = addMs(system.now(), RUN_MAX_MS)
  let walks = await listWalks(system)
  while (walks.length > 0 && system.now() < end) walks = await deletePortions(system, walks)
}

const KINDS = Retention.keyof().options

async function listWalks(system: SystemScope): Promise<Walk[]> {
  const workspaces = await system.sql<{ tenantId: string; retention: unknown }>('listRetentions')`
    select id as tenant_id, retention from workspaces where retention is not null and deleted_at is null
    order by random()`
  return workspaces.flatMap(({ tenantId, retention }) => {
    const days = PutRetention.parse(retention)
    return KINDS.filter((kind) => days[kind] !== null).map((kind) => ({ tenantId, kind, after: null }))
  })
}

/** Deletes one portion of each walk, and returns the walks that have more. A walk that fails ends. */
async function deletePortions(system: SystemScope, walks: Walk[]): Promise<Walk[]> {
  const remaining: Walk[] = []
  for (const walk of walks) {
    const { tenantId, kind } = walk
    try {
      const { deleted, next } = await deletePortion(system, walk)
      const counts = Object.fromEntries(Object.entries(deleted).filter(([, count]) => count > 0))
      if (Object.keys(counts).length > 0) system.log.info({ tenantId, kind, deleted: counts }, 'old rows deleted')
      if (next) remaining.push({ ...walk, after: next })
    } catch (error) {
      system.log.warn(
        { event: 'retention_failed', err: error, tenantId, kind },
        'old rows could not be deleted and will be tried again',
      )
    }
  }
  return remaining
}

function deletePortion(system: SystemScope, { tenantId, kind, after }: Walk): Promise<Portion> {
  return system.forTenant(tenantId).transaction(async (tx) => {
    const { [kind]: days } = await getRetention(tx)
    if (days === null) return { deleted: {}, next: null }
    return EXPIRIES[kind](tx, { before: addMs(tx.now(), -days * DAY), after })
  })
}
