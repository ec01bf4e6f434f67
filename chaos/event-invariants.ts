import type pg from 'pg'
import { sum } from '../bench/stats.ts'
import type { ReceivedCall } from './event-receiver.ts'
import type { InvariantResult } from './invariant.ts'

/** An endpoint, with the position of the event of its creation. */
export type Endpoint = { tenantId: string; id: string; types: string[] | null; payload: string; start: number }
export type StoredEvent = { tenantId: string; id: string; position: number; type: string }
type Attempt = { at: string; statusCode: number | null; error: string | null }
export type Delivery = { endpointId: string; eventId: string; status: string; attempts: Attempt[] }

/** Events and their deliveries at the end of the test, and all that the receiver got. */
export type Outcome = { endpoints: Endpoint[]; events: StoredEvent[]; deliveries: Delivery[]; calls: ReceivedCall[] }

export type EventCounts = {
  calls: number
  /** Pairs of an event and an endpoint that got it. */
  received: number
  /** Calls that the receiver did not answer with 2xx. */
  refused: number
  /** Numbers of deliveries by status, and of those that took several attempts. */
  byStatus: Record<string, number>
  retried: number
}

/** Reads what was to be sent, and what is recorded of it. */
export async function readOutcome(client: pg.Client, calls: ReceivedCall[]): Promise<Outcome> {
  const created = await client.query<{ id: string; position: number }>(
    `select data ->> 'webhookEndpointId' as id, position::float8 as position from events
     where type = 'webhook_endpoint.created'`,
  )
  const starts = new Map(created.rows.map(({ id, position }) => [id, position]))
  const endpoints = await client.query<Omit<Endpoint, 'start'>>(
    'select tenant_id as "tenantId", id, types, payload from webhook_endpoints',
  )
  const events = await client.query<StoredEvent>(
    'select tenant_id as "tenantId", id, position::float8 as position, type from events where position is not null',
  )
  const deliveries = await client.query<Delivery>(
    'select endpoint_id as "endpointId", event_id as "eventId", status, attempts from webhook_deliveries',
  )
  return {
    endpoints: endpoints.rows.map((row) => ({ ...row, start: starts.get(row.id) ?? 0 })),
    events: events.rows,
    deliveries: deliveries.rows,
    calls,
  }
}

export function countEvents({ deliveries, calls }: Outcome): EventCounts {
  const byStatus: Record<string, number> = {}
  for (const { status } of deliveries) byStatus[status] = (byStatus[status] ?? 0) + 1
  return {
    calls: calls.length,
    received: groupByEvent(calls).size,
    refused: sum(calls.map((call) => Number(!isAccepted(call)))),
    byStatus,
    retried: sum(deliveries.map(({ attempts }) => Number(attempts.length > 1))),
  }
}

/** Compares what the receiver got with the events of each endpoint and their deliveries. */
export function checkEvents(outcome: Outcome): InvariantResult[] {
  return [
    checkArrival(outcome),
    checkContent(outcome),
    checkSignatures(outcome),
    checkBodies(outcome),
    checkOrder(outcome),
    checkRecords(outcome),
  ]
}

function checkArrival({ endpoints, events, deliveries, calls }: Outcome): InvariantResult {
  const accepted = groupByEvent(calls.filter(isAccepted))
  const unfinished = groupByEvent(deliveries.filter(({ status }) => status !== 'delivered'))
  const expected = endpoints.flatMap((endpoint) =>
    events
      .filter(({ position, tenantId }) => tenantId === endpoint.tenantId && position > endpoint.start)
      .filter(({ type }) => isOfTypes(type, endpoint.types))
      .map((event) => ({ endpointId: endpoint.id, eventId: event.id, position: event.position })),
  )
  return {
    name: 'every event of the types of an endpoint is accepted by its receiver, or recorded as not delivered',
    checked: expected.length,
    violations: expected
      .filter((event) => !accepted.has(toKey(event)) && !unfinished.has(toKey(event)))
      .map((event) => `${describe(event)}, position ${event.position}`),
  }
}

function checkContent({ endpoints, events, calls }: Outcome): InvariantResult {
  const endpointsById = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))
  const eventsById = new Map(events.map((event) => [`${event.tenantId} ${event.id}`, event]))
  const isRight = (call: ReceivedCall) => {
    const endpoint = endpointsById.get(call.endpointId)
    const event = eventsById.get(`${call.tenantId} ${call.eventId}`)
    return (
      endpoint?.tenantId === call.tenantId &&
      event?.position === call.sequence &&
      event.type === call.type &&
      isOfTypes(call.type, endpoint.types)
    )
  }
  return {
    name: 'an endpoint gets only events of its workspace and types, as they are stored',
    checked: calls.length,
    violations: calls
      .filter((call) => !isRight(call))
      .map((call) => `${describe(call)}, ${call.type} of workspace ${call.tenantId}, sequence ${call.sequence}`),
  }
}

function checkSignatures({ calls }: Outcome): InvariantResult {
  const known = calls.filter(({ isSigned }) => isSigned !== null)
  return {
    name: 'every call is signed with the secret of its endpoint',
    checked: known.length,
    violations: known.filter(({ isSigned }) => isSigned === false).map(describe),
  }
}

/** A thin body says the same in each call. A full one shows an object that changes, until an attempt is recorded. */
function checkBodies({ endpoints, deliveries, calls }: Outcome): InvariantResult {
  const thin = new Set(endpoints.flatMap(({ payload, id }) => (payload === 'thin' ? id : [])))
  const attempts = new Map(deliveries.map((delivery) => [toKey(delivery), delivery.attempts]))
  const repeated = [...groupByEvent(calls)].filter(([, group]) => group.length > 1)
  const hasSameBody = ([key, group]: [string, ReceivedCall[]]) => {
    if (group.some(({ endpointId }) => thin.has(endpointId))) return new Set(group.map(toBody)).size === 1
    const recorded = (attempts.get(key) ?? []).map((attempt) => group.filter((call) => isOfAttempt(call, attempt)))
    const [first = [], ...others] = recorded.filter((list) => list.length > 0)
    return others.length === 0 || first.some((call) => others.every((list) => list.map(toBody).includes(toBody(call))))
  }
  return {
    name: 'an event that is sent again has the same body, if its failure was recorded or it is thin',
    checked: repeated.length,
    violations: repeated.filter((entry) => !hasSameBody(entry)).flatMap(([, [call]]) => (call ? describe(call) : [])),
  }
}

/**
 * An event may come after later ones if an attempt before has failed. A process that could not record its results may have
 * failed too, and then the events that came first are sent again.
 */
function checkOrder({ deliveries, calls }: Outcome): InvariantResult {
  const failed = new Set(
    deliveries
      .filter(({ attempts }) => attempts.some(({ error }) => error !== null))
      .map((delivery) => toKey(delivery)),
  )
  const groups = [...groupByEvent(calls)]
  const last = new Map<string, number>()
  const violations: string[] = []
  for (const [key, group] of groups) {
    const [{ endpointId, sequence } = { endpointId: '', sequence: 0 }] = group
    const overtaking = last.get(endpointId) ?? 0
    if (sequence < overtaking && !failed.has(key)) {
      violations.push(`event ${key} with sequence ${sequence} came after ${overtaking}`)
    }
    if (group.length === 1) last.set(endpointId, Math.max(overtaking, sequence))
  }
  return {
    name: 'events come in the order of their positions, but for those that failed',
    checked: groups.length,
    violations,
  }
}

function checkRecords({ deliveries, calls }: Outcome): InvariantResult {
  const groups = groupByEvent(calls)
  const wasGiven = (delivery: Delivery, attempt: Attempt) =>
    attempt.statusCode === null ||
    (groups.get(toKey(delivery)) ?? []).some(
      (call) => call.status === attempt.statusCode && !call.isLost && isOfAttempt(call, attempt),
    )
  const isTrue = (delivery: Delivery) =>
    delivery.attempts.every((attempt) => wasGiven(delivery, attempt)) &&
    delivery.attempts.some(({ statusCode }) => isSuccess(statusCode)) === (delivery.status === 'delivered')
  return {
    name: 'every answer of a delivery was given by the receiver, and only what it accepted counts as delivered',
    checked: deliveries.length,
    violations: deliveries
      .filter((delivery) => !isTrue(delivery))
      .map((delivery) => `${describe(delivery)}: ${delivery.status} after ${JSON.stringify(delivery.attempts)}`),
  }
}

type EventRef = { endpointId: string; eventId: string }

function toKey({ endpointId, eventId }: EventRef): string {
  return `${eventId} at ${endpointId}`
}

function describe(event: EventRef): string {
  return `event ${toKey(event)}`
}

/** Groups by event and endpoint, in the order of the first of each group. */
function groupByEvent<T extends EventRef>(list: T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of list) {
    const group = groups.get(toKey(item))
    if (group) group.push(item)
    else groups.set(toKey(item), [item])
  }
  return groups
}

function isAccepted({ status, isLost }: ReceivedCall): boolean {
  return isSuccess(status) && !isLost
}

function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300
}

function toBody({ bodyHash }: ReceivedCall): string {
  return bodyHash
}

/** An attempt is signed at once, which may be in the next second. */
function isOfAttempt({ signedAt }: ReceivedCall, { at }: Attempt): boolean {
  const second = Math.floor(Date.parse(at) / 1000)
  return signedAt === second || signedAt === second + 1
}

function isOfTypes(type: string, types: string[] | null): boolean {
  return types === null || types.includes(type) || types.includes(`${type.split('.')[0]}.*`)
}
