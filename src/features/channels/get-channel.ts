import { Channel as ChannelRow } from '../../models/messaging/channel.ts'
import type { Scope } from '../../scope.ts'
import { presentChannel } from './channel-query.ts'
import type { Channel, ChannelRef } from './schema.ts'

export async function getChannel(scope: Scope, { channelId }: ChannelRef): Promise<Channel> {
  return presentChannel(await scope.get(ChannelRow, channelId))
}
