import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A WhatsApp provider that accepts every message at once and records when each phone number was answered. */
export class FakeProvider {
  readonly answers: { phone: string; atMs: number }[] = []
  readonly #server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { to } = JSON.parse(Buffer.concat(chunks).toString()) as { to: string }
      this.answers.push({ phone: to, atMs: performance.now() })
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

  /** Starts the server and returns its URL. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
