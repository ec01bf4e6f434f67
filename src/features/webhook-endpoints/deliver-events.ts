import { WebhookDelivery as DeliveryRow, WebhookEndpoint as EndpointRow } from '../../models/automation.ts'
import type { Job, JobControl } from '../../platform/jobs/job-queue.ts'
import { addMs, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { type FeedEvent, isOfTypesSql, lastPosition } from '../live/event-feed.ts'
import { deliverWebhooksJob } from './jobs.ts'
import {
  FAILURES_MIN,
  giveUpWaiting,
  loadBodies,
  type SentDelivery,
  storeResults,
  toHealth,
  UNREACHABLE_PAUSE_MS,
} from './deliveries.ts'
import { loadResources } from './resources.ts'
import { EventSender, renderEvent, type RenderedEvent, type Sent, type SentEvent } from './send-event.ts'

/** Events that are sent one after the other before their results are stored. */
const EVENTS_MAX = 50
/** Positions that are read at most to find events of the endpoint's types. */
const SCANNED_MAX = 10_000
/** Retries at once. Their order has been lost already. */
const RETRIES_MAX = 8
/** No further event of a portion is sent after this time, so that its results are stored soon. */
const PORTION_MS = 5 * SECOND
/** A portion ends in less time, with its last send. */
const ENDPOINT_LEASE_MS = 30 * SECOND
/** A job leaves its place to other endpoints after this time. */
const JOB_MS = 20 * SECOND
/** Deliveries that wait for a retry. While there are more, events wait at their positions, without a row. */
const WAITING_MAX = 10_000

/**
 * Sends the events after the position of an endpoint, in their order, and those that are due again. What was sent is
 * recorded after it, so an event whose process ends in between is sent again, with the same ID. A failed event does not
 * hold up the later ones.
 */
export async function deliverEvents(
  system: SystemScope,
  { tenantId, key: endpointId }: Pick<Job, 'tenantId' | 'key'>,
  { signal }: JobControl = {},
): Promise<void> {
  const scope = system.forTenant(tenantId)
  const startedMs = performance.now()
  for (;;) {
    const endpoint = await claim(scope, endpointId)
    if (!endpoint) return
    const hasMore = await deliverPortion(scope, endpoint, signal)
    if (!hasMore) return
    if (signal?.aborted || performance.now() - startedMs > JOB_MS) {
      return scope.enqueue(deliverWebhooksJob(tenantId, endpointId))
    }
  }
}

/** Claims an endpoint, unless another process sends to it or it has to wait. */
async function claim(scope: Scope, endpointId: string): Promise<EndpointRow | undefined> {
  const now = scope.now()
  const [row] = await scope.sql<EndpointRow>('claimEndpoint')`
    update webhook_endpoints e set leased_until = ${addMs(now, ENDPOINT_LEASE_MS)}, claim_count = e.claim_count + 1
    where e.tenant_id = ${scope.tenantId} and e.id = ${endpointId} and e.status = 'enabled'
      and coalesce(e.leased_until, '-infinity') <= ${now} and coalesce(e.paused_until, '-infinity') <= ${now}
    returning e.*`
  return row
}

/** Returns true if there may be more to send at once. */
async function deliverPortion(scope: Scope, endpoint: EndpointRow, signal: AbortSignal | undefined): Promise<boolean> {
  const last = await lastPosition(scope)
  const retries = await listRetries(scope, endpoint.id)
  const { events, end, hasGap, isFull } = await listEvents(scope, endpoint, last)
  const bodies = await loadBodies(
    scope,
    retries.map(({ id }) => id),
  )
  const unrendered = [...retries.filter(({ id }) => !bodies.has(id)), ...events]
  const resources = endpoint.payload === 'full' ? await loadResources(scope, unrendered) : new Map()
  const render = (event: SentEvent) => renderEvent(endpoint, event, resources)
  if (!(await renew(scope, endpoint))) return false
  const sender = new EventSender(scope, endpoint)
  try {
    const [first, ...again] = await Promise.all([
      sendInOrder(sender, events, { render, signal }),
      ...retries.map(async (delivery): Promise<SentDelivery[]> => {
        const body = bodies.get(delivery.id)
        const rendered = body ?? render(delivery)
        const sent = await sender.send(delivery, rendered.body, signal)
        return isCutOff(sent, signal) ? [] : [{ event: delivery, rendered, isKept: body !== undefined, delivery, sent }]
      }),
    ])
    const isPart = first.length < events.length
    const position = isPart ? (first.at(-1)?.event.position ?? endpoint.position) : end
    const hasMore = isPart || (end < last && !isFull) || retries.length === RETRIES_MAX
    return await record(scope, endpoint, { results: [...first, ...again.flat()], position, hasMore, hasGap, isFull })
  } finally {
    await sender.close()
  }
}

/** Extends the lease by the time that the sends may take, as loading may have taken long. Returns false if it was lost. */
async function renew(scope: Scope, { id, claimCount }: EndpointRow): Promise<boolean> {
  const renewed = await scope.sql('renewClaim')`
    update webhook_endpoints e set leased_until = ${addMs(scope.now(), ENDPOINT_LEASE_MS)}
    where e.tenant_id = ${scope.tenantId} and e.id = ${id} and e.claim_count = ${claimCount} and e.status = 'enabled'
    returning 1`
  return renewed.length > 0
}

/** A send that the end of the process has cut off is no attempt: another process makes it. */
function isCutOff({ isDelivered }: Sent, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && !isDelivered
}

/** Lists deliveries that are due again, those that are due for longest first. */
async function listRetries(scope: Scope, endpointId: string): Promise<DeliveryRow[]> {
  return await scope
    .query(DeliveryRow)
    .where({ endpointId, status: 'waiting' })
    .where('dueAt', '<=', scope.now())
    .orderBy('dueAt')
    .limit(RETRIES_MAX)
}

/**
 * Lists the next events, and the position up to which none of the types is left out. Positions have no gaps: if there is none
 * after that of the endpoint, events have been deleted.
 */
async function listEvents(
  scope: Scope,
  { id, types, position }: EndpointRow,
  last: number,
): Promise<{ events: SentEvent[]; end: number; hasGap: boolean; isFull: boolean }> {
  const isFull = last > position && (await hasManyWaiting(scope, id))
  if (last <= position || isFull) return { events: [], end: position, hasGap: false, isFull }
  const [next] = await scope.sql<{ position: number | null }>('findNextPosition')`
    select min(position) as position from events e where e.tenant_id = ${scope.tenantId} and position > ${position}`
  const start = (next?.position ?? last + 1) - 1
  const end = Math.min(last, start + SCANNED_MAX)
  const rows = await scope.sql<FeedEvent>('listEventsToSend')`
    select position, id, type, data, created_at as at from events e
    where e.tenant_id = ${scope.tenantId} and position > ${start} and position <= ${end} and ${isOfTypesSql(types)}
    order by position limit ${EVENTS_MAX}`
  const events = rows.map(({ id: eventId, at: eventAt, ...event }) => ({ ...event, eventId, eventAt }))
  const isPart = rows.length === EVENTS_MAX
  return { events, end: isPart ? (rows.at(-1)?.position ?? end) : end, hasGap: start > position, isFull: false }
}

async function hasManyWaiting(scope: Scope, endpointId: string): Promise<boolean> {
  const [row] = await scope.sql<{ waiting: number }>('countWaitingDeliveries')`
    select count(*)::int as waiting from (
      select from webhook_deliveries d
      where d.tenant_id = ${scope.tenantId} and d.endpoint_id = ${endpointId} and d.status = 'waiting'
      limit ${WAITING_MAX}) counted`
  return (row?.waiting ?? 0) >= WAITING_MAX
}

type Sending = { render: (event: SentEvent) => RenderedEvent; signal: AbortSignal | undefined }

/** Sends events one by one, until the receiver asks for a pause, fails several times or takes long. */
async function sendInOrder(
  sender: EventSender,
  events: readonly SentEvent[],
  { render, signal }: Sending,
): Promise<SentDelivery[]> {
  const results: SentDelivery[] = []
  const startedMs = performance.now()
  let failures = 0
  for (const event of events) {
    const rendered = render(event)
    const sent = await sender.send(event, rendered.body, signal)
    if (isCutOff(sent, signal)) break
    results.push({ event, rendered, isKept: false, delivery: undefined, sent })
    failures = sent.isDelivered ? 0 : failures + 1
    const isStopped = sent.pausedUntil !== null || sent.isGone || failures === FAILURES_MIN || signal?.aborted === true
    if (isStopped || performance.now() - startedMs > PORTION_MS) break
  }
  return results
}

type Portion = { results: SentDelivery[]; position: number; hasMore: boolean; hasGap: boolean; isFull: boolean }

/** Stores the results and gives the claim back. Returns true if the endpoint may be claimed for more at once. */
async function record(
  scope: Scope,
  endpoint: EndpointRow,
  { results, position, hasMore, hasGap, isFull }: Portion,
): Promise<boolean> {
  const { id, claimCount } = endpoint
  const now = scope.now()
  const sent = results.map((result) => result.sent)
  const isResting = isFull && !hasMore
  const health = {
    ...(isResting ? { pausedUntil: addMs(now, UNREACHABLE_PAUSE_MS) } : {}),
    ...toHealth(endpoint, sent, now),
  }
  const { status = endpoint.status, pausedUntil = null } = health
  const isRecorded = await scope.transaction(async (tx) => {
    const [kept] = await tx.sql<{ status: string }>('lockClaim')`
      select status from webhook_endpoints e
      where e.tenant_id = ${tx.tenantId} and e.id = ${id} and e.claim_count = ${claimCount} for update`
    if (!kept) return false
    await storeResults(tx, endpoint, results)
    if (status === 'disabled') await giveUpWaiting(tx, id)
    const [next] = await tx.sql<{ dueAt: Date | null }>('findNextRetry')`
      select min(due_at) as due_at from webhook_deliveries d
      where d.tenant_id = ${tx.tenantId} and d.endpoint_id = ${id} and d.status = 'waiting'`
    const columns = { ...health, position, dueAt: next?.dueAt ?? null, leasedUntil: null }
    // Who disabled it meanwhile has the last word.
    const { status: _status, disabledReason: _reason, emailDueAt: _email, ...others } = columns
    await tx
      .query(EndpointRow)
      .findOne('id', id)
      .patch({ ...(kept.status === 'enabled' ? columns : others), ...(hasGap ? { gapAt: now } : {}) })
    if (kept.status === 'enabled' && status === 'disabled')
      await tx.record({ type: 'webhook_endpoint.disabled', data: { webhookEndpointId: id } })
    return true
  })
  if (hasGap)
    scope.log.warn({ tenantId: scope.tenantId, webhookEndpointId: id }, 'events were deleted before a webhook')
  return isRecorded && hasMore && status === 'enabled' && pausedUntil === null
}
