import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Somebody's shop with an API: takes an order once for each key, however often it is sent, and fails at first. */
export class Shop {
  /** How often each key was sent. */
  readonly calls = new Map<string, number>()
  readonly orders = new Map<string, string>()
  readonly #server = createServer((request, response) => {
    const key = String(request.headers['idempotency-key'])
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const call = (this.calls.get(key) ?? 0) + 1
      this.calls.set(key, call)
      if (call === 1) return response.writeHead(503).end()
      const order = Buffer.concat(chunks).toString()
      if (!this.orders.has(key)) this.orders.set(key, order)
      return response.writeHead(200, { 'content-type': 'application/json' }).end(order)
    })
  })

  static async open(): Promise<Shop> {
    const shop = new Shop()
    shop.#server.listen(0, '127.0.0.1')
    await once(shop.#server, 'listening')
    return shop
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
