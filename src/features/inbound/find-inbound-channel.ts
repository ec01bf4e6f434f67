import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { MINUTE } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { forgetChannel, type LoadedChannel, loadCachedChannel } from '../channels/load-channel.ts'

export type InboundChannel = { scope: Scope; channel: LoadedChannel }

/** A channel never moves to another workspace, and one that was deleted is not found there. */
const ROUTE_CACHED_MS = MINUTE

/**
 * Finds the channel of a webhook call and the workspace that it belongs to, as it was at most 3 seconds ago. Calls for a
 * deleted workspace are answered like those for an unknown channel.
 * @throws NotFoundError
 */
export async function findInboundChannel(system: SystemScope, channelId: string): Promise<InboundChannel> {
  if (!isUuid(channelId)) throw new NotFoundError('Channel')
  const tenantId = await system.cached(`route ${channelId}`, ROUTE_CACHED_MS, () => findTenantId(system, channelId))
  // The route may be cached.
  if (system.deletedWorkspaces.has(tenantId)) throw new NotFoundError('Channel')
  const scope = system.forTenant(tenantId)
  return { scope, channel: await loadCachedChannel(scope, channelId) }
}

async function findTenantId(system: SystemScope, channelId: string): Promise<string> {
  const route = await system
    .db('channel_routes')
    .where('channel_id', channelId)
    .first<{ tenant_id: string } | undefined>('tenant_id')
  if (!route) throw new NotFoundError('Channel')
  return route.tenant_id
}

/**
 * Loads the channel again, as another process may have changed it.
 * @throws NotFoundError
 */
export async function reloadInboundChannel({ scope, channel }: InboundChannel): Promise<InboundChannel> {
  forgetChannel(scope, channel.id)
  return { scope, channel: await loadCachedChannel(scope, channel.id) }
}
