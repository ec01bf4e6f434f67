import { WhatsappSettings } from '../../channels/whatsapp/settings.ts'
import { Channel as ChannelRow } from '../../models/messaging.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Channel, ChannelRef } from './schema.ts'

const NO_SETTINGS = { phoneNumberId: null, wabaId: null, baseUrl: null, version: null }

export function toChannel({
  settings,
  credentials: _sealed,
  pausedUntil: _pausedUntil,
  kind: type,
  ...row
}: ChannelRow): Channel {
  const isSandbox = type === 'sandbox'
  const { version, ...shown } = WhatsappSettings.safeParse(settings).data ?? NO_SETTINGS
  return {
    ...row,
    type,
    ...shown,
    apiVersion: version,
    webhookPath: isSandbox ? null : `/inbound/${type}/${row.id}`,
  }
}

/** @throws NotFoundError */
export async function getChannel(scope: Scope, { channelId }: ChannelRef): Promise<Channel> {
  return toChannel(await scope.get(ChannelRow, channelId))
}

/** Lists all channels, newest first. */
export async function listChannels(scope: Scope): Promise<{ items: Channel[] }> {
  const rows = await scope.query(ChannelRow).orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  return { items: rows.map(toChannel) }
}
