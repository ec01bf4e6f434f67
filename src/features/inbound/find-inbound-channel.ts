import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { type LoadedChannel, loadChannel } from '../channels/load-channel.ts'

export type InboundChannel = { scope: Scope; channel: LoadedChannel }

/**
 * Finds the channel of a webhook call and the workspace that it belongs to.
 * @throws NotFoundError
 */
export async function findInboundChannel(system: SystemScope, channelId: string): Promise<InboundChannel> {
  const route = isUuid(channelId)
    ? await system
        .db('channel_routes')
        .where('channel_id', channelId)
        .first<{ tenant_id: string } | undefined>('tenant_id')
    : undefined
  if (!route) throw new NotFoundError('Channel')
  const scope = system.forTenant(route.tenant_id)
  return { scope, channel: await loadChannel(scope, channelId) }
}
