import { dataDirectory } from '../src/platform/embedded-postgres/cluster/data-directory.ts'
import { findLivePostmaster } from '../src/platform/embedded-postgres/postmaster.ts'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../src/platform/embedded-postgres/start-embedded-postgres.ts'
import { removeAbandonedTempDirs, createTempDir } from '../test/support/temp-dir.ts'
import { killServer } from './kill-server.ts'

/** As it is by default, so that what is committed is on disk; connections come from several processes. */
const SETTINGS = { max_connections: '200', log_min_messages: 'fatal' }

/** A Postgres of the storm's own, which may be killed and comes back with what was committed. */
export class StormDatabase {
  readonly dataDir: string
  readonly #remove: () => Promise<void>
  readonly #servers: EmbeddedPostgres[] = []

  private constructor(folder: { path: string; remove(): Promise<void> }) {
    this.dataDir = folder.path
    this.#remove = () => folder.remove()
  }

  /** Its folder is there at once; the server has to be started. */
  static async make(): Promise<StormDatabase> {
    await removeAbandonedTempDirs()
    return new StormDatabase(createTempDir())
  }

  get url(): string {
    return this.#server.connectionString
  }

  get pid(): number {
    return this.#server.pid
  }

  get isServed(): boolean {
    return findLivePostmaster(dataDirectory(this.dataDir)) !== undefined
  }

  kill(): void {
    killServer(dataDirectory(this.dataDir))
  }

  /** Resolves when the server has replayed its log and answers; a machine that is busy may need several tries. */
  async start(tries = 5): Promise<void> {
    try {
      this.#servers.push(await startEmbeddedPostgres({ dataDir: this.dataDir, settings: SETTINGS }))
    } catch (error) {
      if (tries === 1) throw error
      await this.start(tries - 1)
    }
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) await server.stop()
    await this.#remove()
  }

  get #server(): EmbeddedPostgres {
    const server = this.#servers.at(-1)
    if (!server) throw new Error('The server was never started')
    return server
  }
}
