import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { withClient } from '../src/platform/embedded-postgres/connection.ts'
import { createLogger } from '../src/platform/log.ts'
import { migrate } from '../src/platform/database/migrate.ts'
import { connectNodes, distributeIfMigrated, listNodes } from '../test/support/citus.ts'
import { createTempDir, removeAbandonedTempDirs, type TempDir } from '../test/support/temp-dir.ts'
import { CitusNode } from './citus-node.ts'
import type { ChaosDatabase, ChaosServer } from './database.ts'

const DROP_ATTEMPTS = 10

/** A distributed database on a running cluster of Citus, whose nodes are on this machine. */
export class CitusDatabase implements ChaosDatabase {
  readonly url: string
  readonly disk = 'the disks of a cluster of Citus are not limited'
  readonly workerNodes: ChaosServer[]
  readonly #name: string
  readonly #nodeUrls: string[]
  readonly #folder: TempDir
  /** All nodes; the first one is the next that is killed. */
  readonly #servers: ChaosServer[]

  private constructor(name: string, nodeUrls: string[], nodes: ChaosServer[]) {
    const [coordinator, ...workerNodes] = nodes
    if (!coordinator) throw new Error('The cluster of Citus has no coordinator')
    this.#name = name
    this.#nodeUrls = nodeUrls
    this.#folder = createTempDir()
    this.url = withDatabase(nodeUrls[0] ?? '', name)
    this.workerNodes = workerNodes
    this.#servers = [...workerNodes, coordinator]
  }

  static async create(coordinatorUrl: string): Promise<CitusDatabase> {
    await removeAbandonedTempDirs()
    const urls = await listNodes(coordinatorUrl)
    const nodes: ChaosServer[] = []
    for (const [index, url] of urls.entries())
      nodes.push(await CitusNode.find(url, index === 0 ? 'coordinator' : `worker node ${index}`))
    return new CitusDatabase(`chaos_${randomBytes(6).toString('hex')}`, urls, nodes)
  }

  get dataDir(): string {
    return this.#folder.path
  }

  get isRunning(): boolean {
    return this.#servers.every(({ isRunning }) => isRunning)
  }

  nextServer(): ChaosServer {
    const [next, ...others] = this.#servers
    if (!next) throw new Error('The cluster of Citus has no nodes')
    this.#servers.splice(0, Infinity, ...others, next)
    return next
  }

  async start(): Promise<void> {
    await this.#executeOnNodes(`create database ${this.#name}`)
    await connectNodes(this.#nodeUrls[0] ?? '', this.#name)
    await migrate(this.url, createLogger('silent'))
    await distributeIfMigrated(this.url)
  }

  async ensureRunning(): Promise<void> {
    for (const server of this.#servers) await server.start()
  }

  async stop(): Promise<void> {
    await this.ensureRunning()
    await this.#drop()
    await this.#folder.remove()
  }

  /** Transactions that a killed server left prepared keep a database from being dropped on the other nodes. */
  async #drop(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#executeOnNodes(`drop database if exists ${this.#name} with (force)`)
      } catch (error) {
        if (attempt === DROP_ATTEMPTS) throw error
        for (const url of this.#nodeUrls) await endPrepared(withDatabase(url, this.#name)).catch(() => {})
        await delay(attempt * 100)
      }
    }
  }

  async #executeOnNodes(sql: string): Promise<void> {
    for (const url of this.#nodeUrls) await withClient(url, (client) => client.query(sql))
  }
}

/** Rolls prepared transactions back, of a database that nobody needs any more and that may be dropped already. */
async function endPrepared(url: string): Promise<void> {
  await withClient(url, async (client) => {
    const { rows } = await client.query<{ gid: string }>(
      'select gid from pg_prepared_xacts where database = current_database()',
    )
    for (const { gid } of rows) await client.query(`rollback prepared ${client.escapeLiteral(gid)}`)
  })
}

function withDatabase(url: string, name: string): string {
  const address = new URL(url)
  address.pathname = `/${name}`
  return address.href
}
