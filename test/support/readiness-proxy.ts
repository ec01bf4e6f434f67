import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export const CHECK_EVERY_MS = 250

/** A load balancer that sends each request, once, to the next server whose `/readyz` answers 200. */
export class ReadinessProxy {
  readonly #server: Server
  readonly #agent = new Agent({ keepAlive: true })
  readonly #ready = new Map<string, boolean>()
  #next = 0
  #isStopping = false

  private constructor() {
    this.#server = createServer((incoming, answer) => this.#forward(incoming, answer))
  }

  static async start(): Promise<ReadinessProxy> {
    const proxy = new ReadinessProxy()
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  add(url: string): void {
    this.#ready.set(url, false)
    void this.#check(url)
  }

  remove(url: string): void {
    this.#ready.delete(url)
  }

  isReady(url: string): boolean {
    return this.#ready.get(url) === true
  }

  stop(): void {
    this.#isStopping = true
    this.#server.close()
    this.#server.closeAllConnections()
    this.#agent.destroy()
  }

  #forward(incoming: IncomingMessage, answer: ServerResponse): void {
    const ready = [...this.#ready].flatMap(([url, isReady]) => (isReady ? [url] : []))
    this.#next += 1
    const target = ready[this.#next % ready.length]
    if (target === undefined) return void answer.writeHead(502).end()
    const { method, headers, url = '' } = incoming
    const call = request(target + url, { method, headers, agent: this.#agent }, (response) => {
      const { connection: _, ...others } = response.headers
      answer.writeHead(response.statusCode ?? 502, others)
      response.pipe(answer)
    })
    call.on('error', (error) => answer.writeHead(502).end(String(error)))
    incoming.pipe(call)
  }

  /** Checks a server until it is removed. */
  async #check(url: string): Promise<void> {
    while (!this.#isStopping) {
      const status = await fetch(`${url}/readyz`).then(
        (response) => response.status,
        () => 0,
      )
      if (!this.#ready.has(url)) return
      this.#ready.set(url, status === 200)
      await delay(CHECK_EVERY_MS)
    }
  }
}
