import type { Channel } from './channel.ts'
import { sandboxChannel } from './sandbox/sandbox-channel.ts'
import { whatsappChannel } from './whatsapp/whatsapp-channel.ts'

/** The channels there are. `settings` and `credentials` are what the adapter's own schema makes of what was stored. */
export function openChannel(kind: 'sandbox' | 'whatsapp', settings: unknown, credentials: unknown): Channel {
  return kind === 'sandbox' ? sandboxChannel : whatsappChannel(settings, credentials)
}
