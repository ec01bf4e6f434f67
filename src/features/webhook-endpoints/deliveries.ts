import { WebhookDelivery as DeliveryRow, type WebhookEndpoint as EndpointRow } from '../../models/automation.ts'
import { toRecordset } from '../../platform/database/sql.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { newId } from '../../platform/ids.ts'
import { addMs, DAY, HOUR, MINUTE, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { isOfTypesSql } from '../live/event-feed.ts'
import { EVENT_RETENTION_MS } from '../events/purge-events.ts'
import { purgeTenantRows } from '../retention/purge-rows.ts'
import type { RenderedEvent, Sent, SentEvent } from './send-event.ts'

/** The time after each failed attempt until the next one. After the last failure the delivery has failed. */
const DELAYS_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
/** The part of a delay by which it is longer at random, so that retries of many events do not stay together. */
const JITTER = 0.1
/** Attempts that are kept. */
const ATTEMPTS_MAX = 20
/** After nothing but failures for this long an endpoint is disabled. */
const FAILING_MAX_MS = 5 * DAY
/** Longer than the longest delay between two attempts. */
const UNKNOWN_AFTER_MS = 2 * DAY
/** An endpoint that answers nothing is tried again after this time. */
export const UNREACHABLE_PAUSE_MS = 30 * SECOND
/** Events in a row that fail before a receiver counts as one that does not answer. */
export const FAILURES_MIN = 5

/** An event that was sent, with its delivery if it had been sent before. */
export type SentDelivery = {
  event: SentEvent
  /** Undefined if it has arrived. */
  rendered: RenderedEvent | undefined
  /** True if the body is that of an attempt before, and is kept. */
  isKept: boolean
  delivery: DeliveryRow | undefined
  sent: Sent
}

type Columns = Pick<DeliveryRow, 'id' | 'status' | 'attemptCount' | 'attempts' | 'dueAt' | 'deliveredAt' | 'updatedAt'>

function toColumns({ delivery, sent }: SentDelivery, now: Date): Columns {
  const attemptCount = (delivery?.attemptCount ?? 0) + 1
  const delay = DELAYS_MS[attemptCount - 1]
  const dueAt = sent.isDelivered || delay === undefined ? null : addMs(now, delay * (1 + JITTER * Math.random()))
  return {
    id: delivery?.id ?? newId(),
    status: sent.isDelivered ? 'delivered' : dueAt ? 'waiting' : 'failed',
    attemptCount,
    attempts: [sent.attempt],
    dueAt,
    deliveredAt: sent.isDelivered ? now : null,
    updatedAt: now,
  }
}

/** Stores the results of attempts, in the transaction that records them for the endpoint. */
export async function storeResults(tx: Scope, endpoint: EndpointRow, results: readonly SentDelivery[]): Promise<void> {
  const now = tx.now()
  const rows = results.map((result): ResultRow => ({ ...result, columns: toColumns(result, now) }))
  const added = rows.filter(({ delivery }) => !delivery)
  if (added.length > 0) await addDeliveries(tx, endpoint, added)
  const changed = rows.flatMap(({ delivery, columns }) => (delivery ? columns : []))
  if (changed.length > 0) {
    await tx.sql('updateDeliveries')`
      update webhook_deliveries d set status = x.status, attempt_count = x.attempt_count, attempts = d.attempts || x.attempts,
        due_at = x.due_at, delivered_at = x.delivered_at, updated_at = x.updated_at
      from jsonb_populate_recordset(null::webhook_deliveries, ${toRecordset(changed)}::jsonb) x
      where d.tenant_id = ${tx.tenantId} and d.id = x.id and d.status = 'waiting'`
  }
  await storeBodies(tx, rows)
}

type ResultRow = SentDelivery & { columns: Columns }

/** Adds the deliveries of first attempts. Lists of the values cost half of what a document with the rows does. */
async function addDeliveries(tx: Scope, { id }: EndpointRow, rows: readonly ResultRow[]): Promise<void> {
  const now = tx.now()
  const list = <T>(toValue: (row: ResultRow) => T) => rows.map(toValue)
  await tx.sql('addDeliveries')`
    insert into webhook_deliveries (tenant_id, endpoint_id, attempt_count, created_at, updated_at, id, status, attempts,
      due_at, delivered_at, event_id, type, data, position, event_at)
    select ${tx.tenantId}::uuid, ${id}::uuid, 1, ${now}::timestamptz, ${now}::timestamptz, x.*
    from unnest(${list(({ columns }) => columns.id)}::uuid[], ${list(({ columns }) => columns.status)}::text[],
      ${list(({ columns }) => JSON.stringify(columns.attempts))}::jsonb[],
      ${list(({ columns }) => columns.dueAt)}::timestamptz[], ${list(({ columns }) => columns.deliveredAt)}::timestamptz[],
      ${list(({ event }) => event.eventId)}::uuid[], ${list(({ event }) => event.type)}::text[],
      ${list(({ event }) => JSON.stringify(event.data))}::jsonb[], ${list(({ event }) => event.position)}::bigint[],
      ${list(({ event }) => event.eventAt)}::timestamptz[]) x
    on conflict (tenant_id, endpoint_id, event_id) do nothing`
}

/** Keeps the body of what is sent again, unless the contact that it is about has been deleted meanwhile. */
async function storeBodies(tx: Scope, rows: ResultRow[]): Promise<void> {
  const ended = rows.flatMap(({ delivery, columns }) => (delivery && columns.status !== 'waiting' ? columns.id : []))
  await deleteBodies(tx, ended)
  const bodies = rows.flatMap(({ isKept, rendered, columns }) => {
    if (columns.status !== 'waiting' || isKept || !rendered) return []
    const sealed = tx.secrets.seal(rendered.body, sealContext(tx.tenantId, columns.id))
    return { delivery_id: columns.id, contact_id: rendered.contactId, body: `\\x${sealed.toString('hex')}` }
  })
  if (bodies.length === 0) return
  await tx.sql('addBodies')`
    insert into webhook_bodies (tenant_id, delivery_id, contact_id, body)
    select ${tx.tenantId}::uuid, x.delivery_id, x.contact_id, x.body
    from jsonb_to_recordset(${JSON.stringify(bodies)}::jsonb) as x (delivery_id uuid, contact_id uuid, body bytea)
    where exists (
      select from webhook_deliveries d where d.tenant_id = ${tx.tenantId} and d.id = x.delivery_id and d.status = 'waiting')
      and (x.contact_id is null or exists (
        select from contacts c where c.tenant_id = ${tx.tenantId} and c.id = x.contact_id))
    on conflict (tenant_id, delivery_id) do nothing`
}

/** Stores the result of an attempt that a member has asked for. A failure changes neither the status nor the next retry. */
export async function storeAttempt(tx: Scope, id: string, { attempt, isDelivered }: Sent): Promise<void> {
  const row = await tx.query(DeliveryRow).findOne('id', id).forUpdate()
  if (!row) return
  const now = tx.now()
  const attempts = [...row.attempts, attempt].slice(-ATTEMPTS_MAX)
  const delivered = isDelivered ? { status: 'delivered' as const, dueAt: null, deliveredAt: now } : {}
  await tx
    .query(DeliveryRow)
    .findOne('id', id)
    .patch({ ...delivered, attempts, updatedAt: now })
  if (isDelivered) await deleteBodies(tx, [id])
}

async function deleteBodies(tx: Scope, deliveryIds: string[]): Promise<void> {
  if (deliveryIds.length === 0) return
  await tx.sql('deleteBodies')`
    delete from webhook_bodies where tenant_id = ${tx.tenantId} and delivery_id = any(${deliveryIds}::uuid[])`
}

/** Context that binds a sealed body to its row. */
export function sealContext(tenantId: string, deliveryId: string): string {
  return `webhook-body:${tenantId}:${deliveryId}`
}

/** Reads the bodies of the attempts before, by their deliveries. They are missing where the contact was deleted. */
export async function loadBodies(scope: Scope, deliveryIds: string[]): Promise<Map<string, RenderedEvent>> {
  if (deliveryIds.length === 0) return new Map()
  const rows = await scope.sql<{ deliveryId: string; contactId: string | null; body: Buffer }>('loadBodies')`
    select delivery_id, contact_id, body from webhook_bodies
    where tenant_id = ${scope.tenantId} and delivery_id = any(${deliveryIds}::uuid[])`
  return new Map(
    rows.flatMap(({ deliveryId, contactId, body }): [string, RenderedEvent][] => {
      try {
        const opened = String(scope.secrets.open(body, sealContext(scope.tenantId, deliveryId)))
        return [[deliveryId, { contactId, body: opened }]]
      } catch (error) {
        scope.log.warn({ event: 'contact_data_lost', err: error, deliveryId }, 'a kept event cannot be decrypted')
        return []
      }
    }),
  )
}

/** Gives up what waits for a retry: all of an endpoint, or what is not of some types. */
export async function giveUpWaiting(tx: Scope, endpointId: string, types: string[] | null = []): Promise<void> {
  const ended = await tx.sql<{ id: string }>('giveUpWaiting')`
    update webhook_deliveries e set status = 'failed', due_at = null, updated_at = ${tx.now()}
    where e.tenant_id = ${tx.tenantId} and e.endpoint_id = ${endpointId} and e.status = 'waiting'
      and not ${isOfTypesSql(types)}
    returning e.id`
  await deleteBodies(
    tx,
    ended.map(({ id }) => id),
  )
}

/** Makes the next attempts of what waits send it as it is then, to the present address. */
export async function forgetBodies(tx: Scope, endpointId: string): Promise<void> {
  await tx.sql('forgetBodies')`
    delete from webhook_bodies b using webhook_deliveries d
    where b.tenant_id = ${tx.tenantId} and d.tenant_id = ${tx.tenantId} and d.id = b.delivery_id
      and d.endpoint_id = ${endpointId} and d.status = 'waiting'`
}

/** Counts other events that failed since the last success, up to as many as matter; none unless all of these have failed. */
export async function countFailuresBefore(
  scope: Scope,
  { id, failingSince }: Pick<EndpointRow, 'id' | 'failingSince'>,
  results: readonly SentDelivery[],
): Promise<number> {
  const isEnough = results.length >= FAILURES_MIN || results.some(({ sent }) => sent.isDelivered)
  if (results.length === 0 || isEnough || failingSince === null) return 0
  const again = results.flatMap(({ delivery }) => delivery?.id ?? [])
  const [row] = await scope.sql<{ count: number }>('countFailedEvents')`
    select count(*)::int as count from (
      select from webhook_deliveries d
      where d.tenant_id = ${scope.tenantId} and d.endpoint_id = ${id} and d.status = 'waiting' and d.attempt_count > 0
        and d.updated_at >= ${failingSince} and d.id <> all(${again}::uuid[])
      limit ${FAILURES_MIN}) counted`
  return row?.count ?? 0
}

type Health = Pick<EndpointRow, 'failingSince' | 'failedAt' | 'pausedUntil'> & {
  /** The columns of an endpoint that is disabled by the attempts. */
  disabled?: Partial<EndpointRow>
}

/** Columns of an endpoint after attempts, the newest results last. */
export function toHealth(
  { failingSince, failedAt }: Pick<EndpointRow, 'failingSince' | 'failedAt'>,
  { sent, failuresBefore, now }: { sent: readonly Sent[]; failuresBefore: number; now: Date },
): Health {
  if (sent.length === 0) return { failingSince, failedAt, pausedUntil: null }
  const pauses = sent.flatMap(({ pausedUntil }) => pausedUntil ?? [])
  const asked = pauses.length > 0 ? new Date(Math.max(...pauses.map((pause) => pause.getTime()))) : null
  const hasSuccess = sent.some(({ isDelivered }) => isDelivered)
  const isUnreachable = !hasSuccess && sent.length + failuresBefore >= FAILURES_MIN
  const pausedUntil = asked ?? (isUnreachable ? addMs(now, UNREACHABLE_PAUSE_MS) : null)
  // After a time without any attempt it is not known whether the receiver was away all the time.
  const isContinued = failedAt !== null && now.getTime() - failedAt.getTime() < UNKNOWN_AFTER_MS
  const since = hasSuccess ? null : ((isContinued ? failingSince : null) ?? now)
  const isGone = sent.some((result) => result.isGone)
  const isFailing = since !== null && now.getTime() - since.getTime() >= FAILING_MAX_MS
  const health = { failingSince: since, failedAt: hasSuccess ? null : now, pausedUntil }
  if (!isGone && !isFailing) return health
  const disabledReason = isGone ? 'gone' : 'failures'
  const disabled = { status: 'disabled', disabledReason, emailDueAt: now, emailAttempts: 0, updatedAt: now } as const
  return { ...health, disabled }
}

/** Deletes deliveries that were last attempted before events of their age are deleted. */
export async function purgeDeliveries(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -EVENT_RETENTION_MS)
  await purgeTenantRows(system, {
    table: sqlFragment`webhook_deliveries`,
    key: sqlFragment`jsonb_build_object('id', t.id)`,
    isSame: sqlFragment`t.id = old.id`,
    isOld: sqlFragment`t.updated_at < ${oldest}`,
  })
}

const DELETED_MAX = 100
/** Portions of the deliveries of one endpoint in a run. */
const PORTIONS_MAX = 20

/** Deletes the deliveries of deleted endpoints in short statements, and then the endpoints. */
export async function purgeDeletedEndpoints(system: SystemScope): Promise<void> {
  const deleted = await system.acrossTenants<{ tenantId: string; id: string }>('listDeletedEndpoints')`
    select e.tenant_id, e.id from webhook_endpoints e
    where e.deleted_at is not null and ${system.deletedWorkspaces.exceptSql('e')}
    order by e.deleted_at limit ${DELETED_MAX}`
  for (const { tenantId, id } of deleted) {
    const scope = system.forTenant(tenantId)
    let portions = 0
    while (portions < PORTIONS_MAX && (await deletePortion(scope, id)) === system.portions.purge) portions += 1
    if (portions === PORTIONS_MAX) continue
    await scope.sql('deleteEndpoint')`
      delete from webhook_endpoints where tenant_id = ${tenantId} and id = ${id} and deleted_at is not null`
  }
}

async function deletePortion(scope: Scope, endpointId: string): Promise<number> {
  const deleted = await scope.sql('deleteDeliveriesOfEndpoint')`
    delete from webhook_deliveries d where d.tenant_id = ${scope.tenantId} and d.id = any(array(
      select o.id from webhook_deliveries o where o.tenant_id = ${scope.tenantId} and o.endpoint_id = ${endpointId}
      limit ${scope.portions.purge})) returning 1`
  return deleted.length
}
