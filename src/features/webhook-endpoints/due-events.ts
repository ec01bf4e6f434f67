import { WebhookDelivery as DeliveryRow, type WebhookEndpoint as EndpointRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import { type FeedEvent, isOfTypesSql } from '../live/event-feed.ts'
import type { SentEvent } from './send-event.ts'

/** Events that are sent one after the other before their results are stored. */
const EVENTS_MAX = 500
/** Positions that are read at most to find events of the endpoint's types. */
const SCANNED_MAX = 10_000
/** Retries at once. Their order has been lost already. */
const RETRIES_MAX = 8
/** Deliveries that wait for a retry. While there are more, events wait at their positions, without a row. */
const WAITING_MAX = 10_000

/** Deliveries and events that are to be sent to an endpoint next. */
export type DuePortion = {
  retries: DeliveryRow[]
  events: SentEvent[]
  /** The position up to which no event of the types is left out. */
  end: number
  /** True if events were deleted before they could be sent. */
  hasGap: boolean
  /** True if events have to wait at their positions. */
  isFull: boolean
  /** True if there is more. */
  hasMore: boolean
}

/** Reads what is due, up to position `last` of the events. */
export async function readDuePortion(scope: Scope, endpoint: EndpointRow, last: number): Promise<DuePortion> {
  const { position, dueAt } = endpoint
  const retries = dueAt !== null && dueAt <= scope.now() ? await listRetries(scope, endpoint.id) : []
  const isFull = last > position && dueAt !== null && (await hasManyWaiting(scope, endpoint.id))
  const hasMoreRetries = retries.length === RETRIES_MAX
  if (last <= position || isFull) {
    return { retries, events: [], end: position, hasGap: false, isFull, hasMore: hasMoreRetries }
  }
  const { events, end, hasGap } = await listEvents(scope, endpoint, last)
  return { retries, events, end, hasGap, isFull, hasMore: end < last || hasMoreRetries }
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

/** Lists the next events. Positions have no gaps: if there is none after that of the endpoint, events have been deleted. */
async function listEvents(
  scope: Scope,
  { types, position }: EndpointRow,
  last: number,
): Promise<Pick<DuePortion, 'events' | 'end' | 'hasGap'>> {
  const scanned = Math.min(last, position + SCANNED_MAX)
  const rows = await scope.sql<FeedEvent & { position: number }>('listEventsToSend')`
    select position, id, type, data, created_at as at from events e
    where e.tenant_id = ${scope.tenantId} and position > ${position} and position <= ${scanned} and ${isOfTypesSql(types)}
    order by position limit ${EVENTS_MAX}`
  const events = rows.map(({ id: eventId, at: eventAt, ...event }) => ({ ...event, eventId, eventAt }))
  const end = (rows.length === EVENTS_MAX ? rows.at(-1)?.position : undefined) ?? scanned
  if (rows[0]?.position === position + 1) return { events, end, hasGap: false }
  const [next] = await scope.sql<{ position: number | null }>('findNextPosition')`
    select min(position) as position from events e where e.tenant_id = ${scope.tenantId} and position > ${position}`
  const beforeNext = Math.min(last, (next?.position ?? last + 1) - 1)
  return { events, end: Math.max(end, beforeNext), hasGap: beforeNext > position }
}

async function hasManyWaiting(scope: Scope, endpointId: string): Promise<boolean> {
  const [row] = await scope.sql<{ waiting: number }>('countWaitingDeliveries')`
    select count(*)::int as waiting from (
      select from webhook_deliveries d
      where d.tenant_id = ${scope.tenantId} and d.endpoint_id = ${endpointId} and d.status = 'waiting'
      limit ${WAITING_MAX}) counted`
  return (row?.waiting ?? 0) >= WAITING_MAX
}
