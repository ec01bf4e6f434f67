import { createHmac, randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BenchCaller } from './caller.ts'

/** A provider that takes every message at once, and knows when each person was answered. */
export class BenchProvider {
  readonly answeredAt: { phone: string; at: number }[] = []
  readonly #server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { to } = JSON.parse(Buffer.concat(chunks).toString()) as { to: string }
      this.answeredAt.push({ phone: to, at: performance.now() })
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({
          messaging_product: 'whatsapp',
          contacts: [{ input: to, wa_id: to.replace('+', '') }],
          messages: [{ id: `wamid.${randomUUID()}` }],
        }),
      )
    })
  })

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

/** A WhatsApp number of a workspace, as its provider sees it: signed messages go in. */
export class BenchNumber {
  readonly #caller: BenchCaller
  readonly #path: string
  readonly #phoneNumberId: string
  readonly #secret = 'c'.repeat(32)

  private constructor(caller: BenchCaller, path: string, phoneNumberId: string) {
    this.#caller = caller
    this.#path = path
    this.#phoneNumberId = phoneNumberId
  }

  static async connect(caller: BenchCaller, number: number, baseUrl: string): Promise<BenchNumber> {
    const phoneNumberId = String(100_000 + number)
    const { webhookPath } = await caller.post<{ webhookPath: string }>('/api/channels', {
      kind: 'whatsapp',
      name: 'Bench',
      phoneNumberId,
      baseUrl,
      accessToken: 'bench-token',
      appSecret: 'c'.repeat(32),
      verifyToken: 'bench-verify',
    })
    return new BenchNumber(caller, webhookPath, phoneNumberId)
  }

  /** Resolves when the message is acknowledged. */
  async receive(phone: string, body: string): Promise<void> {
    const message = {
      from: phone.slice(1),
      id: `wamid.${randomUUID()}`,
      timestamp: seconds(),
      type: 'text',
      text: { body },
    }
    const value = {
      messaging_product: 'whatsapp',
      metadata: { display_phone_number: '1', phone_number_id: this.#phoneNumberId },
      contacts: [{ profile: { name: 'Bench' }, wa_id: phone.slice(1) }],
      messages: [message],
    }
    const text = JSON.stringify({
      object: 'whatsapp_business_account',
      entry: [{ id: '1', changes: [{ field: 'messages', value }] }],
    })
    const signature = createHmac('sha256', this.#secret).update(text).digest('hex')
    await this.#caller.send(this.#path, text, { 'x-hub-signature-256': `sha256=${signature}` })
  }
}

function seconds(): string {
  return String(Math.floor(Date.now() / 1000))
}
