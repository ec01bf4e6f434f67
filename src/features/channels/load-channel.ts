import type { Channel as Adapter, TemplateProvider } from '../../channels/channel.ts'
import { openChannel } from '../../channels/index.ts'
import { Channel as ChannelRow } from '../../models/messaging.ts'
import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { deliverJob } from '../automation/jobs.ts'

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

/**
 * Loads a channel with what is needed to use it. That of a deleted workspace is not found, as its row may be left.
 * @throws NotFoundError
 */
export async function loadChannel(scope: Scope, channelId: string): Promise<LoadedChannel> {
  const row = await scope.getOpen(ChannelRow, channelId)
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
function toVersion({ updatedAt, credentials }: Pick<ChannelRow, 'updatedAt' | 'credentials'>): string {
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

/** Lets nothing be sent on a channel until a time, whenever it is queued. A longer pause stays. */
export async function pauseChannel(tx: Scope, channelId: string, until: Date): Promise<void> {
  await tx.sql('pauseChannel')`
    update channels set paused_until = ${until}
    where tenant_id = ${tx.tenantId} and id = ${channelId} and (paused_until is null or paused_until < ${until})`
}

/** SQL condition that messages may be sent on the channel `ch`. */
export function maySendSql(now: Date): SqlFragment {
  return sqlFragment`ch.status <> 'disconnected' and (ch.paused_until is null or ch.paused_until <= ${now})`
}

/** Marks a channel as connected, ends its pause and sends what waits for it. */
export async function reconnectChannel(tx: Scope, channelId: string): Promise<void> {
  await tx
    .query(ChannelRow)
    .findOne('id', channelId)
    .patch({ status: 'connected', statusReason: null, pausedUntil: null })
  await tx.sql('rescheduleOutbox')`
    with locked as (
       select message_id from outbox where tenant_id = ${tx.tenantId} and channel_id = ${channelId} and leased_at is null
       order by message_id for no key update)
     update outbox o set not_before = ${tx.now()} from locked
     where o.tenant_id = ${tx.tenantId} and o.channel_id = ${channelId} and o.message_id = locked.message_id and o.leased_at is null`
  tx.enqueue(deliverJob(tx.tenantId, channelId))
}

/**
 * Returns the client of the templates of a channel's account; null for the sandbox, which has no provider.
 * @throws NotFoundError, UnprocessableError `business_account_missing`
 */
export async function loadTemplateProvider(scope: Scope, channelId: string): Promise<TemplateProvider | null> {
  const { kind, adapter } = await loadChannel(scope, channelId)
  if (kind === 'sandbox' || adapter.templates) return adapter.templates
  throw new UnprocessableError(
    'business_account_missing',
    'The channel does not name its WhatsApp Business Account, to which templates belong. Set wabaId with PATCH /api/channels/{channelId}',
  )
}
