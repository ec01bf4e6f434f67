import { createHash } from 'node:crypto'
import { stringify } from 'uuid'
import type { Inbound } from '../../channels/channel.ts'
import type { ChannelWebhook } from '../../models/messaging.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { addMs, DAY, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { purgeTenantRows } from '../retention/purge-rows.ts'

export type Outcome = NonNullable<ChannelWebhook['outcome']>

/** Body of a genuine webhook call. `outcome` is null if the body could not be parsed. */
export type RawWebhook = { id: string; body: Buffer; outcome: Outcome | null }

/** Delay after a transient failure, of which there may be any number. */
export const TRANSIENT_DELAY_MS = 135 * SECOND
/** Delays before further attempts; after the last one the webhook has failed. */
const RETRY_DELAYS_MS = [5 * SECOND, 15 * SECOND, 45 * SECOND, TRANSIENT_DELAY_MS]

/** Retention of webhook bodies: as long as the provider repeats a call. */
const WEBHOOK_RETENTION_MS = 7 * DAY

/** Derives the id of a webhook call from its channel and body: a provider repeats a call that it gets no 200 for. */
export function toWebhookId(channelId: string, body: Buffer): string {
  const bytes = createHash('sha256').update(channelId).update(body).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return stringify(bytes)
}

export function toOutcome({ ignored, unknown, ...parts }: Inbound): Outcome {
  const counts = Object.entries(parts).map(([kind, items]): [string, number] => [kind, items.length])
  return { counts: { ...Object.fromEntries(counts), ignored }, unknown }
}

/** Stores webhook calls as processed, beside the statements that store their parts. */
export async function keepWebhooks(scope: Scope, channelId: string, webhooks: RawWebhook[]): Promise<void> {
  if (webhooks.length === 0) return
  const distinct = new Map(webhooks.map((webhook) => [webhook.id, webhook]))
  const sorted = [...distinct.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  const rows = sorted.map((webhook) => ({
    ...webhook,
    channelId,
    status: 'processed',
    attempts: 1,
    createdAt: scope.now(),
  }))
  await scope.sql('keepWebhooks')`
    ${insertRowsSql('channel_webhooks', scope.tenantId, rows)}
    on conflict (tenant_id, id) do update set status = 'processed', outcome = excluded.outcome, error = null, due_at = null
      where channel_webhooks.status <> 'processed'`
}

/**
 * Stores a webhook call that could not be processed, also if it was stored without its body as others of its parts were.
 * `pending` is retried, after five seconds at first.
 */
export async function keepFailedWebhook(
  scope: Scope,
  channelId: string,
  {
    webhook: { id, body, outcome },
    status,
    error,
  }: { webhook: RawWebhook; status: 'pending' | 'rejected'; error: ChannelWebhook['error'] },
): Promise<void> {
  await scope.sql('keepFailedWebhook')`
    insert into channel_webhooks (tenant_id, id, channel_id, body, status, outcome, error, attempts, due_at, created_at)
     values (${scope.tenantId}, ${id}, ${channelId}, ${body}, ${status}, ${JSON.stringify(outcome)}, ${JSON.stringify(error)},
       1, ${status === 'pending' ? retryAt(scope, 1) : null}, ${scope.now()})
     on conflict (tenant_id, id) do update set status = excluded.status, outcome = excluded.outcome, error = excluded.error,
       attempts = 1, due_at = excluded.due_at, body = greatest(excluded.body, channel_webhooks.body)`
}

/** Returns the time of the next attempt after `attempts` failed ones; null if that was the last. */
export function retryAt(scope: Scope, attempts: number): Date | null {
  const delayMs = RETRY_DELAYS_MS[attempts - 1]
  return delayMs === undefined ? null : addMs(scope.now(), delayMs)
}

/** Deletes old webhook bodies. */
export async function purgeWebhooks(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -WEBHOOK_RETENTION_MS)
  await purgeTenantRows(system, {
    table: sqlFragment`channel_webhooks`,
    key: sqlFragment`jsonb_build_object('id', t.id)`,
    isSame: sqlFragment`t.id = old.id`,
    isOld: sqlFragment`t.created_at < ${oldest}`,
  })
}
