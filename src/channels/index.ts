import type { Channel } from './channel.ts'
import { sandboxChannel } from './sandbox-channel.ts'
import { whatsappChannel, type WhatsappOptions } from './whatsapp/whatsapp-channel.ts'

/**
 * Creates the adapter of a channel from its stored settings and credentials.
 * @throws ZodError or InvalidError when the adapter does not accept them
 */
export function openChannel(
  kind: 'sandbox' | 'whatsapp',
  settings: unknown,
  credentials: unknown,
  options: WhatsappOptions = {},
): Channel {
  return kind === 'sandbox' ? sandboxChannel : whatsappChannel(settings, credentials, options)
}
