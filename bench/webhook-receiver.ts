import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A receiver of events that accepts each at once, and knows how many came and what the last one was. */
export class WebhookReceiver {
  count = 0
  #last = ''
  readonly #server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      this.#last = Buffer.concat(chunks).toString()
      this.count += 1
      response.writeHead(204).end()
    })
  })

  /** Starts the server and returns its URL. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/events`
  }

  get lastEvent(): object {
    return JSON.parse(this.#last) as object
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
