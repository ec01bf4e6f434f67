import { Channel as ChannelRow } from '../../models/messaging/channel.ts'
import type { Scope } from '../../scope.ts'
import { toChannel } from './channel-query.ts'
import type { Channel } from './schema.ts'

export async function listChannels(scope: Scope): Promise<{ items: Channel[] }> {
  const rows = await scope.query(ChannelRow).orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  return { items: rows.map(toChannel) }
}
