import type { WebhookEndpoint as EndpointRow } from '../../models/automation.ts'
import { ConflictError, InvalidError, NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { createJob } from '../jobs/create-job.ts'
import type { JobItem, JobKind } from '../jobs/job-kind.ts'
import type { Job } from '../jobs/schema.ts'
import { isOfTypes, isOfTypesSql } from '../live/event-feed.ts'
import { assertMayRead } from './changes.ts'
import { deliverWebhooksJob } from './jobs.ts'
import { getEndpoint } from './queries.ts'
import { RecoveryCursor, RecoveryInput, type RecoverEvents } from './schema.ts'
import type { SentEvent } from './send-event.ts'

const PORTION = 500
/** Events of one recovery. */
const EVENTS_MAX = 100_000

/**
 * Creates a job that sends the events of a time again that did not arrive, or that the endpoint missed while it was disabled.
 * Those before its creation are none of its events.
 * @throws NotFoundError, InvalidError, ConflictError `webhook_endpoint_disabled` or `too_many_jobs`, UnprocessableError
 * `too_many_events`
 */
export function recoverEvents(scope: Scope, { webhookEndpointId, since, until }: RecoverEvents): Promise<Job> {
  assertOrder(since, until, scope.now())
  return scope.transaction(async (tx) => {
    const endpoint = await getEndpoint(tx, webhookEndpointId)
    assertMayRead(tx, endpoint)
    assertEnabled(endpoint)
    const { id, types, position: end, createdAt } = endpoint
    const first = since > createdAt ? since : createdAt
    const input = {
      webhookEndpointId: id,
      types,
      since: first.toISOString(),
      until: (until ?? tx.now()).toISOString(),
    }
    const [row] = await tx.sql<{ count: number }>('countEventsToRecover')`
      select count(*)::int as count from (
        select from events e where ${isRecoveredSql(tx, input, end)} limit ${EVENTS_MAX + 1}) counted`
    const total = row?.count ?? 0
    if (total > EVENTS_MAX) {
      const message = `There are more than ${EVENTS_MAX} events in this time. Choose a shorter one`
      throw new UnprocessableError('too_many_events', message)
    }
    const cursor = { after: 0, line: 0, end } satisfies RecoveryCursor
    return (await createJob(tx, { type: 'webhooks_recover', input, cursor, total })).job
  })
}

function assertOrder(since: Date, until: Date | undefined, now: Date): void {
  const last = until ?? now
  if (since <= last) return
  const [path, message] = until ? ['until', 'must not be before since'] : ['since', 'must not be in the future']
  throw new InvalidError(`${path} ${message}`, [{ path, message }])
}

function assertEnabled({ status }: Pick<EndpointRow, 'status'>): void {
  if (status === 'enabled') return
  const message = 'The endpoint is disabled, so nothing is sent to it. Enable it first'
  throw new ConflictError('webhook_endpoint_disabled', message)
}

/** Returns the condition of the events `e` of a recovery. What is behind position `end` of the endpoint is sent anyway. */
function isRecoveredSql({ tenantId }: Scope, { types, since, until }: RecoveryInput, end: number): SqlFragment {
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
    const { end, ...start } = RecoveryCursor.parse(job.cursor)
    let { after, line } = start
    for (;;) {
      const events = await scope.sql<SentEvent & { position: number }>('listEventsToRecover')`
        select e.id as event_id, e.type, e.data, e.position, e.created_at as event_at from events e
        where ${isRecoveredSql(scope, input, end)} and e.position > ${after} order by e.position limit ${PORTION}`
      if (events.length === 0) return
      const lines = events.map((event) => ({ ...event, line: (line += 1) }))
      after = lines.at(-1)?.position ?? after
      yield { lines, cursor: { after, line, end } satisfies RecoveryCursor }
    }
  },

  async apply(tx, job, lines) {
    const { webhookEndpointId: endpointId } = RecoveryInput.parse(job.input)
    const now = tx.now()
    // Retries are looked for when one is due. Endpoints are locked before their deliveries.
    const [endpoint] = await tx.sql<EndpointRow>('makeEndpointDue')`
      update webhook_endpoints e set due_at = least(e.due_at, ${now})
      where e.tenant_id = ${tx.tenantId} and e.id = ${endpointId} and e.deleted_at is null returning e.*`
    if (!endpoint) throw new NotFoundError('Webhook endpoint')
    assertEnabled(endpoint)
    // It may want other types now than when the job was created.
    const types = endpoint.types && new Set(endpoint.types)
    const wanted = lines.filter(({ type }) => types === null || isOfTypes(types, type))
    const ids = wanted.map(({ eventId }) => eventId)
    const again = await tx.sql<{ eventId: string }>('recoverDeliveries')`
      update webhook_deliveries d set status = 'waiting', attempt_count = 0, due_at = ${now}, updated_at = ${now}
      where d.tenant_id = ${tx.tenantId} and d.endpoint_id = ${endpointId} and d.event_id = any(${ids}::uuid[])
        and d.status = 'failed' returning d.event_id`
    const rows = wanted.map(({ line: _line, ...event }) => ({
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
    const missed =
      rows.length === 0
        ? []
        : await tx.sql<{ eventId: string }>('addMissedDeliveries')`
            ${insertRowsSql('webhook_deliveries', tx.tenantId, rows)}
            on conflict (tenant_id, endpoint_id, event_id) do nothing returning event_id`
    tx.enqueue(deliverWebhooksJob(tx.tenantId, endpointId))
    const created = new Set(missed.map(({ eventId }) => eventId))
    const updated = new Set(again.map(({ eventId }) => eventId))
    return lines.map(({ line, eventId }): JobItem => {
      const status = created.has(eventId) ? 'created' : updated.has(eventId) ? 'updated' : 'unchanged'
      return { line, status, targetId: eventId, error: null }
    })
  },
}
