import { UnprocessableError } from '../../platform/errors.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { createJob } from '../jobs/create-job.ts'
import type { JobItem, JobKind } from '../jobs/job-kind.ts'
import type { Job } from '../jobs/schema.ts'
import { isOfTypesSql } from '../live/event-feed.ts'
import { assertMayRead } from './changes.ts'
import { deliverWebhooksJob } from './jobs.ts'
import { getEndpoint } from './queries.ts'
import { RecoveryInput, type RecoverEvents } from './schema.ts'
import type { SentEvent } from './send-event.ts'

const PORTION = 500
/** Events of one recovery. */
const EVENTS_MAX = 100_000

/**
 * Creates a job that sends the events of a time again that did not arrive, or that the endpoint missed while it was disabled.
 * @throws NotFoundError, UnprocessableError `too_many_events`, ConflictError `too_many_jobs`
 */
export function recoverEvents(scope: Scope, { webhookEndpointId, since, until }: RecoverEvents): Promise<Job> {
  return scope.transaction(async (tx) => {
    const endpoint = await getEndpoint(tx, webhookEndpointId)
    assertMayRead(tx, endpoint)
    const { id: endpointId, types, position: end } = endpoint
    const input = { endpointId, types, end, since: since.toISOString(), until: (until ?? tx.now()).toISOString() }
    const [row] = await tx.sql<{ count: number }>('countEventsToRecover')`
      select count(*)::int as count from (
        select from events e where ${isRecoveredSql(tx, input)} limit ${EVENTS_MAX + 1}) counted`
    const total = row?.count ?? 0
    if (total > EVENTS_MAX) {
      const message = `There are more than ${EVENTS_MAX} events in this time. Choose a shorter one`
      throw new UnprocessableError('too_many_events', message)
    }
    return (await createJob(tx, { type: 'webhooks_recover', input, total })).job
  })
}

/** Returns the condition of the events `e` of a recovery: those that the endpoint is past. */
function isRecoveredSql({ tenantId }: Scope, { types, end, since, until }: RecoveryInput): SqlFragment {
  return sqlFragment`e.tenant_id = ${tenantId} and e.position <= ${end} and e.created_at >= ${since}::timestamptz
    and e.created_at < ${until}::timestamptz and ${isOfTypesSql(types)}`
}

type Line = SentEvent & { line: number; position: number }

/** Makes deliveries that failed, or that there are none of, due now. */
export const webhooksRecover: JobKind<Line> = {
  type: 'webhooks_recover',
  role: 'admin',
  scope: 'webhook-endpoints:write',

  async *read(scope, job) {
    const input = RecoveryInput.parse(job.input)
    let after = Number(job.cursor?.['after'] ?? 0)
    let line = Number(job.cursor?.['line'] ?? 0)
    for (;;) {
      const events = await scope.sql<SentEvent & { position: number }>('listEventsToRecover')`
        select e.id as event_id, e.type, e.data, e.position, e.created_at as event_at from events e
        where ${isRecoveredSql(scope, input)} and e.position > ${after} order by e.position limit ${PORTION}`
      if (events.length === 0) return
      const lines = events.map((event) => ({ ...event, line: (line += 1) }))
      after = lines.at(-1)?.position ?? after
      yield { lines, cursor: { after, line } }
    }
  },

  async apply(tx, job, lines) {
    const { endpointId } = RecoveryInput.parse(job.input)
    await getEndpoint(tx, endpointId)
    const now = tx.now()
    // Retries are looked for when one is due. Endpoints are locked before their deliveries.
    await tx.sql('makeEndpointDue')`
      update webhook_endpoints e set due_at = least(e.due_at, ${now}) where e.tenant_id = ${tx.tenantId} and e.id = ${endpointId}`
    const ids = lines.map(({ eventId }) => eventId)
    const again = await tx.sql<{ id: string; eventId: string }>('recoverDeliveries')`
      update webhook_deliveries d set status = 'waiting', attempt_count = 0, due_at = ${now}, updated_at = ${now}
      where d.tenant_id = ${tx.tenantId} and d.endpoint_id = ${endpointId} and d.event_id = any(${ids}::uuid[])
        and d.status = 'failed' returning d.id, d.event_id`
    const rows = lines.map(({ line: _line, ...event }) => ({
      ...event,
      id: newId(),
      endpointId,
      status: 'waiting',
      attemptCount: 0,
      attempts: [],
      dueAt: now,
      createdAt: now,
      updatedAt: now,
    }))
    const missed = await tx.sql<{ id: string; eventId: string }>('addMissedDeliveries')`
      ${insertRowsSql('webhook_deliveries', tx.tenantId, rows)}
      on conflict (tenant_id, endpoint_id, event_id) do nothing returning id, event_id`
    tx.enqueue(deliverWebhooksJob(tx.tenantId, endpointId))
    const created = new Map(missed.map(({ id, eventId }) => [eventId, id]))
    const updated = new Map(again.map(({ id, eventId }) => [eventId, id]))
    return lines.map(({ line, eventId }): JobItem => {
      const status = created.has(eventId) ? 'created' : updated.has(eventId) ? 'updated' : 'unchanged'
      return { line, status, targetId: created.get(eventId) ?? updated.get(eventId) ?? null, error: null }
    })
  },
}
