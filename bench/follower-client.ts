import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

type Subscription = { path: string; headers: Record<string, string> }

/** Connections that follow subscriptions. They count the items, and parse nothing else. */
export class FollowerClient {
  readonly #url: URL
  readonly #sockets: Socket[] = []
  #items = 0
  #lastAtMs = 0
  #failure: Error | undefined

  constructor(url: string) {
    this.#url = new URL(url)
  }

  get size(): number {
    return this.#sockets.length
  }

  /** Opens the subscription, and waits for its first item. */
  async open({ path, headers }: Subscription): Promise<void> {
    const expected = this.#items + 1
    const socket = connect(Number(this.#url.port), this.#url.hostname)
    socket.setNoDelay(true)
    let rest = ''
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\n')
      rest = lines.pop() ?? ''
      const count = lines.filter((line) => line.startsWith('id: ')).length
      if (lines[0]?.startsWith('HTTP/') && !lines[0].includes(' 200 '))
        this.#failure ??= new Error(`${path} returned ${lines[0]}`)
      this.#items += count
      if (count > 0) this.#lastAtMs = performance.now()
    })
    socket.on('close', () => (this.#failure ??= new Error('A subscription has ended')))
    socket.on('error', () => undefined)
    const lines = Object.entries({ host: this.#url.host, accept: 'text/event-stream', ...headers })
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
    this.#sockets.push(socket)
    await this.#waitFor(expected)
  }

  /** Waits until each connection has received `count` more items; returns the ms until the last of them. */
  async expectItems(count: number, cause: () => Promise<unknown>): Promise<number> {
    const expected = this.#items + count * this.#sockets.length
    const startMs = performance.now()
    await cause()
    await this.#waitFor(expected)
    return this.#lastAtMs - startMs
  }

  close(): void {
    for (const socket of this.#sockets) {
      socket.removeAllListeners('close')
      socket.destroy()
    }
  }

  async #waitFor(items: number): Promise<void> {
    for (let waits = 0; this.#items < items; waits += 1) {
      if (this.#failure) throw this.#failure
      if (waits > 15_000) throw new Error(`Only ${this.#items} of ${items} items arrived`)
      await delay(1)
    }
  }
}
