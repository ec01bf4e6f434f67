import type { Channel as Adapter } from '../../channels/channel.ts'
import { openChannel } from '../../channels/index.ts'
import { Channel as ChannelRow } from '../../models/messaging/channel.ts'
import type { Scope } from '../../scope.ts'

export type LoadedChannel = {
  id: string
  kind: 'sandbox' | 'whatsapp'
  status: 'connected' | 'degraded' | 'disconnected'
  adapter: Adapter
}

/** Context that binds encrypted credentials to their row. */
export function sealContext(tenantId: string, channelId: string): string {
  return `channel:${tenantId}:${channelId}`
}

/** @throws NotFoundError */
export async function loadChannel(scope: Scope, channelId: string): Promise<LoadedChannel> {
  const { id, kind, status, settings, credentials } = await scope.get(ChannelRow, channelId)
  const secret = credentials && scope.secrets.open(credentials, sealContext(scope.tenantId, id))
  return { id, kind, status, adapter: openChannel(kind, settings, secret, { allowLoopback: scope.allowsLoopback }) }
}

/** Postpones the queue of a channel that cannot send, and marks it as degraded if it cannot recover by itself. */
export async function recordChannelError(
  tx: Scope,
  channelId: string,
  { reason, until, isStopped }: { reason: string; until: Date; isStopped: boolean },
): Promise<void> {
  const now = tx.now()
  await tx
    .db('outbox')
    .where({ tenant_id: tx.tenantId, channel_id: channelId })
    .whereNull('leased_at')
    .where('not_before', '<', until)
    .update({ not_before: until })
  if (!isStopped) return
  await tx
    .query(ChannelRow)
    .findOne('id', channelId)
    .patch({ status: 'degraded', statusReason: reason, updatedAt: now })
  await tx.record({ type: 'channel.degraded', data: { channelId } })
}
