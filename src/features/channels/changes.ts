import { assertCallableBaseUrl, WhatsappCredentials, WhatsappSettings } from '../../channels/whatsapp/settings.ts'
import { Broadcast } from '../../models/broadcasts.ts'
import { Channel as ChannelRow } from '../../models/messaging.ts'
import { definedFields } from '../../platform/fields.ts'
import { ConflictError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { deleteHistory } from '../automation/delete-history.ts'
import { lockConversationsBy } from '../automation/lock-order.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { forgetChannel, reconnectChannel, sealContext } from './load-channel.ts'
import { toChannel } from './queries.ts'
import type { Channel, ChannelRef, CreateChannel, UpdateChannel } from './schema.ts'

/**
 * Connects a WhatsApp number. Its credentials are stored encrypted.
 * @throws ConflictError `too_many_channels`; InvalidError when the base URL is on this machine or has another port, and the installation does not allow that
 */
export async function createChannel(scope: Scope, input: CreateChannel): Promise<Channel> {
  const { type, name, phoneNumber, apiVersion: version, ...config } = input
  const settings = WhatsappSettings.parse({ ...config, version })
  assertCallableBaseUrl(settings, scope)
  const channelId = newId()
  return scope.transaction(async (tx) => {
    await assertRowLimit(tx, 'channels')
    const now = tx.now()
    await tx.query(ChannelRow).insert({
      id: channelId,
      kind: type,
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

/**
 * Changes a channel. New credentials replace only those that are set, and reconnect a degraded channel.
 * @throws ConflictError `channel_is_sandbox`
 */
export function updateChannel(scope: Scope, input: UpdateChannel): Promise<Channel> {
  const { channelId, accessToken, appSecret, verifyToken, wabaId, status, ...columns } = input
  const secrets = definedFields({ accessToken, appSecret, verifyToken })
  return scope.transaction(async (tx) => {
    const existing = await tx.lock(ChannelRow, channelId)
    const hasSecrets = Object.keys(secrets).length > 0
    if (existing.kind === 'sandbox' && (hasSecrets || status || wabaId)) {
      throw new ConflictError('channel_is_sandbox', 'Only the name of the sandbox channel can be changed')
    }
    const context = sealContext(tx.tenantId, channelId)
    const sealed = existing.credentials && hasSecrets && reseal(tx, existing.credentials, context, secrets)
    // Of a connected channel, too: its pause ends, and what waits for it is sent at once.
    const isReconnected = status === 'connected' || (hasSecrets && existing.status === 'degraded')
    tx.audit?.compareWith({ ...existing.settings, ...existing }, { isChanged: isReconnected })
    await tx
      .query(ChannelRow)
      .findOne('id', channelId)
      .patch({
        ...definedFields(columns),
        ...(wabaId === undefined ? {} : { settings: { ...existing.settings, wabaId } }),
        ...(sealed ? { credentials: sealed } : {}),
        ...(status === 'disconnected' ? { status } : {}),
        updatedAt: tx.now(),
      })
    forgetChannel(tx, channelId)
    if (isReconnected) await reconnectChannel(tx, channelId)
    return toChannel(await tx.get(ChannelRow, channelId))
  })
}

/**
 * Deletes a channel with its conversations and messages.
 * @throws ConflictError `channel_is_sandbox`, `channel_in_use`
 */
export function deleteChannel(scope: Scope, { channelId }: ChannelRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await lockConversationsBy(tx, { column: 'channel_id', id: channelId })
    const { kind } = await tx.lock(ChannelRow, channelId)
    if (kind === 'sandbox')
      throw new ConflictError('channel_is_sandbox', 'The sandbox of a workspace cannot be deleted')
    const uses = await tx.query(Broadcast).where({ channelId }).resultSize()
    if (uses > 0) {
      throw new ConflictError(
        'channel_in_use',
        'Broadcasts use this channel. Delete them first, or disconnect the channel',
      )
    }
    await deleteHistory(tx, channelId)
    await tx.query(ChannelRow).delete().where('id', channelId)
    forgetChannel(tx, channelId)
    await tx.sql('deleteChannelRoute')`delete from channel_routes where channel_id = ${channelId}`
    await tx.record({ type: 'channel.deleted', data: { channelId } })
    return {}
  })
}

function reseal(tx: Scope, sealed: Buffer, context: string, changes: object): Buffer {
  const credentials = WhatsappCredentials.parse(tx.secrets.open(sealed, context))
  return tx.secrets.seal(WhatsappCredentials.parse({ ...credentials, ...changes }), context)
}
