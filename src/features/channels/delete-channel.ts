import { Broadcast } from '../../models/broadcasts.ts'
import { Channel as ChannelRow } from '../../models/messaging.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { deleteHistory } from '../automation/delete-history.ts'
import { lockConversationsBy } from '../automation/lock-order.ts'
import { forgetChannel } from './load-channel.ts'
import type { ChannelRef } from './schema.ts'

/**
 * Deletes a channel with its conversations and messages.
 * @throws ConflictError `channel_is_sandbox`, `channel_in_use`
 */
export function deleteChannel(scope: Scope, { channelId }: ChannelRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    const owner = { column: 'channel_id', id: channelId } as const
    await lockConversationsBy(tx, owner)
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
    await deleteHistory(tx, owner)
    await tx.query(ChannelRow).delete().where('id', channelId)
    forgetChannel(tx, channelId)
    await tx.sql('deleteChannelRoute')`delete from channel_routes where channel_id = ${channelId}`
    await tx.record({ type: 'channel.deleted', data: { channelId } })
    return {}
  })
}
