import { CitusDatabase } from './citus-database.ts'
import { EmbeddedDatabase } from './embedded-database.ts'
import type { LimitedDisk } from './limited-disk.ts'

/** A database server, which can be killed, stopped and started on the same data. */
export type ChaosServer = {
  readonly name: string
  /** Folder of the server's data, which is the working directory of its processes. */
  readonly dataFolder: string
  readonly isRunning: boolean
  kill(): void
  stop(): Promise<void>
  start(): Promise<void>
}

/** The database of a chaos test. */
export type ChaosDatabase = {
  readonly url: string
  /** Folder for the files of the test. */
  readonly dataDir: string
  /** The disk of the server, or the reason why its size is not limited. */
  readonly disk: LimitedDisk | string
  /** Servers whose failure affects a part of the workspaces. */
  readonly workerNodes: ChaosServer[]
  readonly isRunning: boolean
  /** Returns the servers in turn. */
  nextServer(): ChaosServer
  start(): Promise<void>
  /** Starts the servers that are not running. */
  ensureRunning(): Promise<void>
  /** Stops what was started for the test and removes its data. */
  stop(): Promise<void>
}

/** Creates a temporary server, or with the URL of a coordinator of Citus a database on its cluster. */
export function createDatabase(citusUrl: string | undefined): Promise<ChaosDatabase> {
  return citusUrl === undefined ? EmbeddedDatabase.create() : CitusDatabase.create(citusUrl)
}
