import type { WhatsappSettings } from '../../channels/whatsapp/settings.ts'
import type { Channel as ChannelRow } from '../../models/messaging/channel.ts'
import type { Channel } from './schema.ts'

export function toChannel({ settings, ...row }: ChannelRow): Channel {
  const { phoneNumberId, wabaId, baseUrl, version } = settings as Partial<WhatsappSettings>
  return {
    ...row,
    phoneNumberId: phoneNumberId ?? null,
    wabaId: wabaId ?? null,
    baseUrl: baseUrl ?? null,
    apiVersion: version ?? null,
    webhookPath: row.kind === 'sandbox' ? null : `/inbound/${row.kind}/${row.id}`,
  }
}
