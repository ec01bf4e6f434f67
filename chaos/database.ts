import { dataDirectory } from '../src/platform/embedded-postgres/cluster/data-directory.ts'
import { findLivePostmaster } from '../src/platform/embedded-postgres/postmaster.ts'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../src/platform/embedded-postgres/start-embedded-postgres.ts'
import { removeAbandonedTempDirs, createTempDir } from '../test/support/temp-dir.ts'
import { killPostgres } from './kill-postgres.ts'

/** Durability settings keep their defaults, so that a commit survives a kill; several processes share the connections. */
const SETTINGS = { max_connections: '200', log_min_messages: 'fatal' }

/** A temporary Postgres server that can be killed and restarted on the same data. */
export class ChaosDatabase {
  readonly dataDir: string
  readonly #remove: () => Promise<void>
  readonly #servers: EmbeddedPostgres[] = []

  private constructor(folder: { path: string; remove(): Promise<void> }) {
    this.dataDir = folder.path
    this.#remove = () => folder.remove()
  }

  /** Creates the data folder; the server is started separately. */
  static async create(): Promise<ChaosDatabase> {
    await removeAbandonedTempDirs()
    return new ChaosDatabase(createTempDir())
  }

  get url(): string {
    const server = this.#servers.at(-1)
    if (!server) throw new Error('The database server has not been started. Call start() first.')
    return server.connectionString
  }

  get isRunning(): boolean {
    return findLivePostmaster(dataDirectory(this.dataDir)) !== undefined
  }

  kill(): void {
    killPostgres(dataDirectory(this.dataDir))
  }

  /** Resolves when the server has replayed its log and accepts connections; on a busy machine this can take several attempts. */
  async start(attempts = 5): Promise<void> {
    try {
      this.#servers.push(await startEmbeddedPostgres({ dataDir: this.dataDir, settings: SETTINGS }))
    } catch (error) {
      if (attempts === 1) throw error
      await this.start(attempts - 1)
    }
  }

  /** Stops the server and removes its data. */
  async stop(): Promise<void> {
    for (const server of this.#servers) await server.stop()
    await this.#remove()
  }
}
