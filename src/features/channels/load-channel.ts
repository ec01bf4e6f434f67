import type { Channel as Adapter } from '../../channels/channel.ts'
import { openChannel } from '../../channels/index.ts'
import { Channel as ChannelRow } from '../../models/messaging/channel.ts'
import { SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'

export type LoadedChannel = {
  id: string
  kind: 'sandbox' | 'whatsapp'
  status: 'connected' | 'degraded' | 'disconnected'
  adapter: Adapter
  /** Another value after each change of the channel. */
  version: string
}

/** Context that binds encrypted credentials to their row. */
export function sealContext(tenantId: string, channelId: string): string {
  return `channel:${tenantId}:${channelId}`
}

/** @throws NotFoundError */
export async function loadChannel(scope: Scope, channelId: string): Promise<LoadedChannel> {
  const row = await scope.get(ChannelRow, channelId)
  const { id, kind, status, settings, credentials } = row
  const secret = credentials && scope.secrets.open(credentials, sealContext(scope.tenantId, id))
  const adapter = openChannel(kind, settings, secret, { allowsLoopback: scope.allowsLoopback })
  return { id, kind, status, adapter, version: toVersion(row) }
}

const CACHED_MS = 3 * SECOND

/**
 * Loads a channel as it was at most 3 seconds ago. Changes that this process makes take effect at once; for others the
 * caller compares what it did with the present state, or loads the channel again when it fails.
 * @throws NotFoundError
 */
export function loadCachedChannel(scope: Scope, channelId: string): Promise<LoadedChannel> {
  return scope.cached(cacheKey(channelId), CACHED_MS, () => loadChannel(scope, channelId))
}

/** Makes the next reader load a channel that was changed. */
export function forgetChannel(scope: Scope, channelId: string): void {
  scope.forget(cacheKey(channelId))
}

function cacheKey(channelId: string): string {
  return `channel ${channelId}`
}

/** Sealing the same credentials again gives other bytes. */
function toVersion({ updatedAt, credentials }: ChannelRow): string {
  return `${updatedAt.toISOString()} ${credentials?.toString('base64') ?? ''}`
}

/**
 * Returns true if somebody has repaired the channel since it was loaded: what it could not do then, it may be able to do
 * now. The channel is locked.
 */
export async function wasRepaired(tx: Scope, { id, version }: LoadedChannel): Promise<boolean> {
  const current = await tx.query(ChannelRow).findOne('id', id).forNoKeyUpdate()
  return current?.status === 'connected' && toVersion(current) !== version
}

/** Marks a channel as degraded: it cannot send until somebody repairs it. */
export async function degradeChannel(tx: Scope, channelId: string, reason: string): Promise<void> {
  await tx
    .query(ChannelRow)
    .findOne('id', channelId)
    .patch({ status: 'degraded', statusReason: reason, updatedAt: tx.now() })
  forgetChannel(tx, channelId)
  await tx.record({ type: 'channel.degraded', data: { channelId } })
}

/** Reschedules the unclaimed messages of a channel that are due before `before`, or all of them. */
export async function rescheduleOutbox(
  tx: Scope,
  channelId: string,
  { at, before }: { at: Date; before: Date | null },
): Promise<void> {
  await tx.sql('rescheduleOutbox')`
    with locked as (
       select message_id from outbox where tenant_id = ${tx.tenantId} and channel_id = ${channelId} and leased_at is null
         and (${before}::timestamptz is null or not_before < ${before}) order by message_id for no key update)
     update outbox o set not_before = ${at} from locked
     where o.tenant_id = ${tx.tenantId} and o.channel_id = ${channelId} and o.message_id = locked.message_id and o.leased_at is null`
}
