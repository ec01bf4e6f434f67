import { createHmac, randomUUID } from 'node:crypto'
import type { BenchClient } from './http-client.ts'

const APP_SECRET = 'c'.repeat(32)

/** A WhatsApp number of a workspace, for which signed webhooks are sent as its provider would. */
export class WhatsAppNumber {
  readonly #client: BenchClient
  readonly #webhookPath: string
  readonly #phoneNumberId: string

  private constructor(client: BenchClient, webhookPath: string, phoneNumberId: string) {
    this.#client = client
    this.#webhookPath = webhookPath
    this.#phoneNumberId = phoneNumberId
  }

  static async connect(client: BenchClient, index: number, baseUrl: string): Promise<WhatsAppNumber> {
    const phoneNumberId = String(100_000 + index)
    const { webhookPath } = await client.post<{ webhookPath: string }>('/api/channels', {
      type: 'whatsapp',
      name: 'Bench',
      phoneNumberId,
      baseUrl,
      accessToken: 'bench-token',
      appSecret: APP_SECRET,
      verifyToken: 'bench-verify',
    })
    return new WhatsAppNumber(client, webhookPath, phoneNumberId)
  }

  /** Sends the webhook of an inbound message; resolves when it is acknowledged. */
  async sendWebhook(phone: string, body: string): Promise<void> {
    const text = buildWebhook(this.#phoneNumberId, phone, body)
    const signature = createHmac('sha256', APP_SECRET).update(text).digest('hex')
    await this.#client.postText(this.#webhookPath, text, { 'x-hub-signature-256': `sha256=${signature}` })
  }
}

/** Builds the body of the webhook of an inbound message. */
export function buildWebhook(phoneNumberId: string, phone: string, body: string): string {
  const message = {
    from: phone.slice(1),
    id: `wamid.${randomUUID()}`,
    timestamp: String(Math.floor(Date.now() / 1000)),
    type: 'text',
    text: { body },
  }
  const value = {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '1', phone_number_id: phoneNumberId },
    contacts: [{ profile: { name: 'Bench' }, wa_id: phone.slice(1) }],
    messages: [message],
  }
  return JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [{ id: '1', changes: [{ field: 'messages', value }] }],
  })
}
