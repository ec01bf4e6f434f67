import { WebhookEndpoint as EndpointRow } from '../../models/automation.ts'
import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import {
  countFailuresBefore,
  giveUpWaiting,
  type SentDelivery,
  storeResults,
  toHealth,
  UNREACHABLE_PAUSE_MS,
} from './deliveries.ts'
import type { DuePortion } from './due-events.ts'

/** A portion of due events, with the results of those that were sent. */
export type SentPortion = Pick<DuePortion, 'hasGap' | 'isFull' | 'hasMore'> & {
  results: SentDelivery[]
  position: number
}

/**
 * Stores the results of a portion and the position after it, unless the claim was lost. Returns the endpoint if it may be
 * sent more at once: it is then claimed until `leasedUntil`, if there is one.
 */
export async function recordPortion(
  scope: Scope,
  endpoint: EndpointRow,
  { results, position, hasMore, hasGap, isFull }: SentPortion,
  leasedUntil: Date | null,
): Promise<EndpointRow | undefined> {
  const { id, claimCount } = endpoint
  const now = scope.now()
  const { failingSince, failedAt, disabled, ...health } = toHealth(endpoint, {
    sent: results.map(({ sent }) => sent),
    failuresBefore: await countFailuresBefore(scope, endpoint, results),
    now,
  })
  const pausedUntil = health.pausedUntil ?? (isFull && !hasMore ? addMs(now, UNREACHABLE_PAUSE_MS) : null)
  const goesOn = hasMore && !disabled && pausedUntil === null
  const hasRetries = endpoint.dueAt !== null || results.some(({ sent }) => !sent.isDelivered)
  const recorded = await scope.transaction(async (tx) => {
    const [row] = await tx.sql<EndpointRow>('recordPortion')`
      update webhook_endpoints e set position = ${position}, paused_until = ${pausedUntil},
        failing_since = ${failingSince}, failed_at = ${failedAt}, gap_at = coalesce(${hasGap ? now : null}, e.gap_at),
        leased_until = case when e.status = 'enabled' then ${goesOn ? leasedUntil : null}::timestamptz end
      where e.tenant_id = ${tx.tenantId} and e.id = ${id} and e.claim_count = ${claimCount} returning e.*`
    if (!row) return undefined
    await storeResults(tx, endpoint, results)
    // Who disabled it meanwhile has the last word.
    if (disabled && row.status === 'enabled') {
      await giveUpWaiting(tx, id)
      await tx.query(EndpointRow).findOne('id', id).patch(disabled)
      await tx.record({ type: 'webhook_endpoint.disabled', data: { webhookEndpointId: id } })
    }
    return hasRetries ? saveNextRetry(tx, id) : row
  })
  if (hasGap) scope.log.warn({ event: 'events_missed', webhookEndpointId: id }, 'events were deleted before a webhook')
  return goesOn && recorded?.status === 'enabled' ? recorded : undefined
}

/** Stores the time of the next retry with the endpoint, and returns it. */
async function saveNextRetry(tx: Scope, endpointId: string): Promise<EndpointRow | undefined> {
  const [row] = await tx.sql<EndpointRow>('saveNextRetry')`
    update webhook_endpoints e set due_at = (
      select min(d.due_at) from webhook_deliveries d
      where d.tenant_id = ${tx.tenantId} and d.endpoint_id = ${endpointId} and d.status = 'waiting')
    where e.tenant_id = ${tx.tenantId} and e.id = ${endpointId} returning e.*`
  return row
}
