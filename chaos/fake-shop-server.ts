import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An external API that accepts one order per idempotency key and fails the first request of each key with a 503. */
export class FakeShopServer {
  /** Number of requests by idempotency key. */
  readonly requests = new Map<string, number>()
  /** Body of the order by idempotency key. */
  readonly orders = new Map<string, string>()
  readonly #server = createServer((request, response) => {
    const key = String(request.headers['idempotency-key'])
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const attempt = (this.requests.get(key) ?? 0) + 1
      this.requests.set(key, attempt)
      if (attempt === 1) return response.writeHead(503).end()
      const order = Buffer.concat(chunks).toString()
      if (!this.orders.has(key)) this.orders.set(key, order)
      return response.writeHead(200, { 'content-type': 'application/json' }).end(order)
    })
  })

  static async start(): Promise<FakeShopServer> {
    const shop = new FakeShopServer()
    shop.#server.listen(0, '127.0.0.1')
    await once(shop.#server, 'listening')
    return shop
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
