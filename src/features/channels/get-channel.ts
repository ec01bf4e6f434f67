import { Channel as ChannelRow } from '../../models/messaging/channel.ts'
import type { Scope } from '../../scope.ts'
import { toChannel } from './channel-query.ts'
import type { Channel, ChannelRef } from './schema.ts'

export async function getChannel(scope: Scope, { channelId }: ChannelRef): Promise<Channel> {
  return toChannel(await scope.get(ChannelRow, channelId))
}
