import { EventEmitter } from 'node:events'
import pg from 'pg'
import { SECOND } from '../../time.ts'
import { DatabaseUrlError, NO_PRIMARY, toDatabaseUrlError, splitHosts } from '../database-url.ts'
import { destroySocket } from '../connections.ts'
import { ServerProbe, type ServerState } from './server-probe.ts'

const CHECK_MS = SECOND
/** Checks between two looks at the other servers. */
const CHECKS_PER_LOOK = 5

export type Server = { url: string; host: string; port: number; probe: ServerProbe }

type Finding = { server: Server; state: ServerState | undefined; error: unknown }

/** No server of the URL accepts changes. The code makes it an outage, which ends when one does. */
export class NoPrimaryError extends Error {
  override name = 'NoPrimaryError'
  readonly code = NO_PRIMARY
}

/**
 * The servers of a URL with several hosts: a primary and its standbys. Connections are opened to the primary, which is the
 * server that accepts changes with the newest timeline, and the first of these. A promotion starts a new timeline, so that
 * a former primary which comes back is not used. While there are connections, the primary is checked every second; when
 * another server has become the primary, the connections to all others are closed.
 */
export class Servers extends EventEmitter<{ change: [from: string, to: string] }> {
  readonly #servers: Server[]
  readonly #connections = new Map<pg.Client, Server>()
  #primary: Server | undefined
  /** The primary that was used last. */
  #last: { server: Server; timeline: number } | undefined
  #looking: Promise<Server> | undefined
  #timer: NodeJS.Timeout | undefined
  #checks = 0

  constructor(urls: string[]) {
    super()
    this.#servers = urls.map((url) => {
      const { host, port } = new pg.Client({ connectionString: url })
      return { url, host, port, probe: new ServerProbe(url) }
    })
  }

  /** @throws NoPrimaryError */
  async findPrimary(): Promise<Server> {
    return this.#primary ?? (await this.#look())
  }

  /** Counts a connection that is opened to a server, until it is closed. */
  add(client: pg.Client, server: Server): void {
    this.#connections.set(client, server)
    client.once('end', () => this.#remove(client))
    this.#timer ??= setInterval(() => void this.#check(), CHECK_MS).unref()
  }

  /** Makes the next connection look for the primary. */
  suspect(server: Server): void {
    if (this.#primary === server) this.#primary = undefined
  }

  #remove(client: pg.Client): void {
    this.#connections.delete(client)
    if (this.#connections.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#primary = undefined
    for (const { probe } of this.#servers) probe.close()
  }

  async #check(): Promise<void> {
    this.#checks += 1
    const primary = this.#primary
    if (!primary || this.#checks % CHECKS_PER_LOOK === 0) {
      await this.#look().catch(() => undefined)
      return
    }
    const state = await primary.probe.read().catch(() => undefined)
    if (!state?.isWritable && this.#primary === primary) await this.#look().catch(() => undefined)
  }

  #look(): Promise<Server> {
    return (this.#looking ??= this.#readStates().finally(() => (this.#looking = undefined)))
  }

  async #readStates(): Promise<Server> {
    const readings = this.#servers.map(readState)
    const promoted = await this.#findPromoted(readings)
    if (promoted) return this.#use(promoted)
    const findings = await Promise.all(readings)
    const primary = choosePrimary(findings)
    // A server that does not answer may only be slow; one that has become a standby rejects every change.
    for (const { server, state } of findings) if (state && server !== primary?.server) this.#closeConnections(server)
    this.#primary = undefined
    if (!primary) throw new NoPrimaryError(findings.map(describeFinding).join('; '))
    return this.#use(primary)
  }

  /** Returns a primary with a newer timeline than that of the last one, without waiting for servers that do not answer. */
  async #findPromoted(readings: Promise<Finding>[]): Promise<Finding | undefined> {
    const isPromoted = ({ state }: Finding) =>
      this.#last !== undefined && state?.isWritable === true && state.timeline > this.#last.timeline
    const promoted = readings.map(async (reading) => {
      const finding = await reading
      if (!isPromoted(finding)) throw new Error('not promoted')
      return finding
    })
    return Promise.any(promoted).catch(() => undefined)
  }

  #use({ server, state }: Finding): Server {
    const previous = this.#last?.server
    this.#last = { server, timeline: state?.timeline ?? 0 }
    this.#primary = server
    if (previous !== undefined && previous !== server) {
      for (const other of this.#servers) if (other !== server) this.#closeConnections(other)
      this.emit('change', toAddress(previous), toAddress(server))
    }
    return server
  }

  #closeConnections(server: Server): void {
    for (const [client, its] of this.#connections) if (its === server) destroySocket(client)
  }
}

async function readState(server: Server): Promise<Finding> {
  try {
    return { server, state: await server.probe.read(), error: undefined }
  } catch (error) {
    return { server, state: undefined, error }
  }
}

function choosePrimary(findings: Finding[]): Finding | undefined {
  const writable = findings.filter(({ state }) => state?.isWritable)
  const timeline = Math.max(...writable.map(({ state }) => state?.timeline ?? 0))
  return writable.find(({ state }) => state?.timeline === timeline)
}

function toAddress({ host, port }: Server): string {
  return host.startsWith('/') ? host : `${host}:${port}`
}

function describeFinding({ server, state, error }: Finding): string {
  if (state) return `the server at ${toAddress(server)} is a standby or read-only`
  const described = toDatabaseUrlError(error, server.url)
  return described instanceof DatabaseUrlError
    ? described.problem
    : `the server at ${toAddress(server)} does not answer`
}

const known = new Map<string, Servers>()

/** Returns the servers of a URL, which all connections of this process share; undefined for a URL with one host. */
export function findServers(url: string): Servers | undefined {
  const urls = splitHosts(url)
  if (urls.length === 1) return undefined
  const servers = known.get(url) ?? new Servers(urls)
  known.set(url, servers)
  return servers
}
