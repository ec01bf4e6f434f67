import { assertCallableBaseUrl, WhatsappCredentials, WhatsappSettings } from '../../channels/whatsapp/settings.ts'
import { Channel as ChannelRow } from '../../models/messaging.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { sealContext } from './load-channel.ts'
import { toChannel } from './queries.ts'
import type { Channel, CreateChannel } from './schema.ts'

/**
 * Connects a WhatsApp number. Its credentials are stored encrypted.
 * @throws ConflictError `too_many_channels`; InvalidError when the base URL is on this machine or has another port, and the installation does not allow that
 */
export async function createChannel(scope: Scope, input: CreateChannel): Promise<Channel> {
  const { kind, name, phoneNumber, apiVersion: version, ...config } = input
  const settings = WhatsappSettings.parse({ ...config, version })
  assertCallableBaseUrl(settings, scope)
  const channelId = newId()
  return scope.transaction(async (tx) => {
    await assertRowLimit(tx, 'channels')
    const now = tx.now()
    await tx.query(ChannelRow).insert({
      id: channelId,
      kind,
      name,
      status: 'connected',
      phoneNumber: phoneNumber ?? null,
      settings,
      credentials: tx.secrets.seal(WhatsappCredentials.parse(config), sealContext(tx.tenantId, channelId)),
      createdAt: now,
      updatedAt: now,
    })
    await tx.sql('addRoute')`insert into channel_routes (channel_id, tenant_id) values (${channelId}, ${tx.tenantId})`
    await tx.record({ type: 'channel.connected', data: { channelId } })
    return toChannel(await tx.get(ChannelRow, channelId))
  })
}
