import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A proxy before the database. While it is dark it forwards nothing and closes nothing, like a network that drops packets. */
export class TcpProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isDark = false
  #port = 0

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(targetUrl: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(targetUrl)
    const server = createServer()
    const proxy = new TcpProxy(server)
    server.on('connection', (client) => proxy.#forward(client, connect(Number(port), hostname)))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  /** The URL with the address of the proxy. */
  through(targetUrl: string): string {
    const url = new URL(targetUrl)
    url.host = `127.0.0.1:${this.#readPort()}`
    return url.href
  }

  goDark(): void {
    this.#isDark = true
  }

  /** Forwards new connections again. Those that were open in the dark stay silent. */
  recover(): void {
    for (const socket of this.#sockets) socket.removeAllListeners('data')
    this.#isDark = false
  }

  /** Closes all connections and refuses new ones, like a server that is stopped. */
  async refuse(): Promise<void> {
    this.#port = this.#readPort()
    const closed = once(this.#server, 'close')
    this.stop()
    await closed
  }

  /** Accepts connections again, on the same port. */
  async accept(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  stop(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #readPort(): number {
    return (this.#server.address() as AddressInfo).port
  }

  #forward(client: Socket, target: Socket): void {
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      this.#sockets.add(from)
      from.on('data', (chunk) => {
        if (!this.#isDark) to.write(chunk)
      })
      from.on('error', () => undefined)
      from.on('close', () => to.destroy())
    }
  }
}
