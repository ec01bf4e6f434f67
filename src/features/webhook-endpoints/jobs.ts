import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import type { Job } from '../../platform/jobs/job-queue.ts'
import { SECOND } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'

/** Events of this time are sent together. */
const COLLECTED_MS = SECOND / 4
/** A process notices in this time that a workspace has another endpoint. */
const ENDPOINTS_MS = 10 * SECOND
/** Endpoints that a run of the periodic task enqueues. */
const ENDPOINTS_MAX = 1000

/** Job that sends the events of an endpoint that are due. */
export function deliverWebhooksJob(tenantId: string, endpointId: string): Job {
  return { task: 'deliver-webhooks', tenantId, key: endpointId }
}

/** Key of the cached endpoints of a workspace. */
export const ENDPOINTS_KEY = 'webhook endpoints'

/**
 * Enqueues the endpoints of workspaces that have new events, in a process that executes jobs. Returns the function that
 * ends it. What it misses is found by the periodic task.
 */
export function watchEvents(system: SystemScope): () => void {
  const waiting = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  const enqueue = async (tenantId: string) => {
    const endpointIds = await system.forTenant(tenantId).cached(ENDPOINTS_KEY, ENDPOINTS_MS, () => {
      return listEnabled(system, tenantId)
    })
    system.enqueue(...endpointIds.map((id) => deliverWebhooksJob(tenantId, id)))
  }
  const flush = async () => {
    timer = undefined
    const tenantIds = [...waiting]
    waiting.clear()
    for (const tenantId of tenantIds) {
      await enqueue(tenantId).catch((err: unknown) =>
        system.log.warn({ event: 'deliveries_not_found', err, tenantId }, 'could not find webhooks'),
      )
    }
  }
  const unsubscribe = system.notifications.subscribe('events', (tenantId) => {
    if (tenantId === undefined) return
    waiting.add(tenantId)
    timer ??= setTimeout(() => void flush(), COLLECTED_MS)
  })
  return () => {
    unsubscribe()
    clearTimeout(timer)
  }
}

async function listEnabled(system: SystemScope, tenantId: string): Promise<string[]> {
  const rows = await system.forTenant(tenantId).sql<{ id: string }>('listEnabledEndpoints')`
    select id from webhook_endpoints where tenant_id = ${tenantId} and status = 'enabled'`
  return rows.map(({ id }) => id)
}

/** Selects the endpoints that have work by a time: retries, or events that were not sent yet. */
export function dueEndpointsSql(before: Date): SqlFragment {
  return sqlFragment`
    select e.tenant_id, e.id from webhook_endpoints e
    left join event_positions p on p.tenant_id = e.tenant_id
    where e.status = 'enabled' and coalesce(e.paused_until, '-infinity') <= ${before}
      and coalesce(e.leased_until, '-infinity') <= ${before} and (e.due_at <= ${before} or p.position > e.position
        or exists (select from events n where n.tenant_id = e.tenant_id and n.position is null))`
}

/** Enqueues the endpoints that have retries that are due or events that were not sent yet. */
export async function enqueueDueWebhooks(system: SystemScope): Promise<void> {
  const due = await system.acrossTenants<{ tenantId: string; id: string }>('listDueEndpoints')`
    select e.tenant_id, e.id from (${dueEndpointsSql(system.now())}) e
    where ${system.deletedWorkspaces.exceptSql('e')} order by random() limit ${ENDPOINTS_MAX}`
  system.enqueue(...due.map(({ tenantId, id }) => deliverWebhooksJob(tenantId, id)))
}
