import { dataDirectory } from '../src/platform/embedded-postgres/data-directory.ts'
import { findLivePostmaster } from '../src/platform/embedded-postgres/postmaster.ts'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../src/platform/embedded-postgres/start-embedded-postgres.ts'
import { removeAbandonedTempDirs, createTempDir, type TempDir } from '../test/support/temp-dir.ts'
import type { ChaosDatabase, ChaosServer } from './database.ts'
import { killPostgres } from './kill-postgres.ts'
import { LimitedDisk } from './limited-disk.ts'

/** Durability settings keep their defaults, so that a commit survives a kill; several processes share the connections. */
const SETTINGS = { max_connections: '200', log_min_messages: 'fatal' }

/** A temporary Postgres server. */
export class EmbeddedDatabase implements ChaosDatabase, ChaosServer {
  readonly name = 'database'
  readonly workerNodes = []
  readonly dataDir: string
  readonly disk: LimitedDisk | string
  readonly #folder: TempDir
  readonly #started: EmbeddedPostgres[] = []

  private constructor(folder: TempDir, disk: LimitedDisk | string) {
    this.#folder = folder
    this.dataDir = folder.path
    this.disk = disk
  }

  /** Creates the data folder, if possible on a disk of limited size; the server is started separately. */
  static async create(): Promise<EmbeddedDatabase> {
    await removeAbandonedTempDirs()
    const disk = await LimitedDisk.mount()
    return new EmbeddedDatabase(typeof disk === 'string' ? createTempDir() : disk, disk)
  }

  get url(): string {
    const server = this.#started.at(-1)
    if (!server) throw new Error('The database server has not been started. Call start() first.')
    return server.connectionString
  }

  nextServer(): ChaosServer {
    return this
  }

  get dataFolder(): string {
    return dataDirectory(this.dataDir).data
  }

  get isRunning(): boolean {
    return findLivePostmaster(dataDirectory(this.dataDir)) !== undefined
  }

  kill(): void {
    killPostgres(this.dataFolder)
  }

  /** Resolves when the server has replayed its log and accepts connections; on a busy machine this can take several attempts. */
  async start(attempts = 5): Promise<void> {
    try {
      this.#started.push(await startEmbeddedPostgres({ dataDir: this.dataDir, settings: SETTINGS }))
    } catch (error) {
      if (attempts === 1) throw error
      await this.start(attempts - 1)
    }
  }

  async ensureRunning(): Promise<void> {
    if (!this.isRunning) await this.start()
  }

  async stop(): Promise<void> {
    for (const server of this.#started) await server.stop()
    await this.#folder.remove()
  }
}
