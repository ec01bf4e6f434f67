import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A forwarded connection; `server` is undefined while it is not connected, as if its SYN had been lost. */
type Link = { client: Socket; server: Socket | undefined }

/**
 * A proxy before the database, which fails as a network does. During a partition it forwards nothing and closes nothing.
 */
export class TcpProxy {
  readonly #server: Server
  readonly #target: { host: string; port: number }
  readonly #links = new Set<Link>()
  #isPartitioned = false
  #port = 0

  private constructor(server: Server, target: { host: string; port: number }) {
    this.#server = server
    this.#target = target
  }

  static async start(targetUrl: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(targetUrl)
    const server = createServer()
    const proxy = new TcpProxy(server, { host: hostname, port: Number(port) })
    server.on('connection', (client) => proxy.#open(client))
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

  get connectionCount(): number {
    return this.#links.size
  }

  /** Resets the connection at a position from 0 to `connectionCount - 1`. */
  cut(position: number): void {
    const link = [...this.#links][position]
    if (link) this.#reset(link)
  }

  cutAll(): void {
    for (const link of this.#links) this.#reset(link)
  }

  partition(): void {
    this.#isPartitioned = true
    for (const { client, server } of this.#links) {
      client.pause()
      server?.pause()
    }
  }

  /**
   * Forwards new connections again. Those that were open during the partition stay silent, as after the loss of their
   * state in a router, or with `keepsConnections` deliver what was sent meanwhile, as TCP does.
   */
  recover({ keepsConnections = false } = {}): void {
    this.#isPartitioned = false
    for (const link of this.#links) {
      if (!link.server) this.#connect(link)
      else if (keepsConnections) resume(link)
      else silence(link)
    }
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
    for (const link of this.#links) this.#reset(link)
  }

  #readPort(): number {
    return (this.#server.address() as AddressInfo).port
  }

  #open(client: Socket): void {
    const link: Link = { client, server: undefined }
    this.#links.add(link)
    client.on('error', () => undefined)
    client.on('close', () => this.#links.delete(link))
    if (!this.#isPartitioned) this.#connect(link)
  }

  #connect(link: Link): void {
    const server = connect(this.#target.port, this.#target.host)
    link.server = server
    server.on('error', () => undefined)
    this.#forward(link.client, server)
    this.#forward(server, link.client)
  }

  #forward(from: Socket, to: Socket): void {
    from.on('data', (chunk) => {
      if (to.write(chunk)) return
      from.pause()
      to.once('drain', () => {
        if (!this.#isPartitioned) from.resume()
      })
    })
    from.on('close', (hadError) => {
      if (hadError) to.resetAndDestroy()
      else to.end()
    })
  }

  #reset(link: Link): void {
    this.#links.delete(link)
    link.client.resetAndDestroy()
    link.server?.resetAndDestroy()
  }
}

function resume({ client, server }: Link): void {
  client.resume()
  server?.resume()
}

/** Discards what the client sends, and closes the connection to the server when the client gives up. */
function silence({ client, server }: Link): void {
  client.removeAllListeners('data')
  client.on('data', () => undefined)
  client.on('close', () => server?.destroy())
  client.resume()
}
