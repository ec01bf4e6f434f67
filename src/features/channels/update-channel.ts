import { WhatsappCredentials } from '../../channels/whatsapp/settings.ts'
import { Channel as ChannelRow } from '../../models/messaging.ts'
import { ConflictError } from '../../platform/errors.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import type { Scope } from '../../scope/scope.ts'
import { forgetChannel, reconnectChannel, sealContext } from './load-channel.ts'
import { toChannel } from './queries.ts'
import type { Channel, UpdateChannel } from './schema.ts'

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
      throw new ConflictError(
        'channel_is_sandbox',
        'The sandbox has no credentials and no account, and is always connected',
      )
    }
    const context = sealContext(tx.tenantId, channelId)
    const sealed = existing.credentials && hasSecrets && reseal(tx, existing.credentials, context, secrets)
    const isReconnected = status === 'connected' || (hasSecrets && existing.status === 'degraded')
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

function reseal(tx: Scope, sealed: Buffer, context: string, changes: object): Buffer {
  const credentials = WhatsappCredentials.parse(tx.secrets.open(sealed, context))
  return tx.secrets.seal(WhatsappCredentials.parse({ ...credentials, ...changes }), context)
}
