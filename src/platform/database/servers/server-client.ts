import pg from 'pg'
import { findServers, type Server, type Servers } from './servers.ts'
import { splitHosts } from '../database-url.ts'

/** A client of the driver that connects to the primary server if its URL has several hosts. */
export class ServerClient extends pg.Client {
  readonly #servers: Servers | undefined
  #isEnded = false
  #failure: Error | undefined

  constructor(config: pg.ClientConfig = {}) {
    const { connectionString } = config
    super(connectionString === undefined ? config : { ...config, connectionString: splitHosts(connectionString)[0] })
    this.#servers = connectionString === undefined ? undefined : findServers(connectionString)
    // The server may end the connection in the packet that accepts it, before the owner of the client can listen.
    this.on('error', (error) => (this.#failure ??= error))
  }

  override connect(): Promise<this>
  override connect(callback: (error: Error | null) => void): void
  override connect(callback?: (error: Error | null) => void): Promise<this> | void {
    const connected = this.#servers ? this.#connectToPrimary(this.#servers) : this.#connect()
    if (!callback) return connected
    connected.then(() => callback(this.#failure ?? null), callback)
  }

  override end(): Promise<void>
  override end(callback: (error: Error) => void): void
  override end(callback?: (error: Error) => void): Promise<void> | void {
    this.#isEnded = true
    return callback ? super.end(callback) : super.end()
  }

  async #connectToPrimary(servers: Servers): Promise<this> {
    const server = await servers.findPrimary()
    if (this.#isEnded) throw new Error('Connection terminated')
    return this.#connectTo(server, servers)
  }

  async #connectTo(server: Server, servers: Servers): Promise<this> {
    Object.assign(this, { host: server.host, port: server.port })
    servers.add(this, server)
    try {
      return await this.#connect()
    } catch (error) {
      servers.suspect(server)
      throw error
    }
  }

  async #connect(): Promise<this> {
    await super.connect()
    if (this.#failure) throw this.#failure
    return this
  }
}
