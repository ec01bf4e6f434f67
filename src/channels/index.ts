import type { Channel } from './channel.ts'
import { sandboxChannel } from './sandbox/sandbox-channel.ts'
import { whatsappChannel, type WhatsappOptions } from './whatsapp/whatsapp-channel.ts'

/**
 * The channels there are. `settings` and `credentials` are what the adapter's own schema makes of what was stored.
 * @throws ZodError or InvalidError when they are not what the adapter takes
 */
export function openChannel(
  kind: 'sandbox' | 'whatsapp',
  settings: unknown,
  credentials: unknown,
  options: WhatsappOptions = {},
): Channel {
  return kind === 'sandbox' ? sandboxChannel : whatsappChannel(settings, credentials, options)
}
