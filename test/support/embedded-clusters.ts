import { spawnSync } from 'node:child_process'
import { dataDirectory } from '../../src/platform/embedded-postgres/data-directory.ts'
import { withClient } from '../../src/platform/embedded-postgres/connection.ts'
import { findLivePostmaster } from '../../src/platform/embedded-postgres/postmaster.ts'
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres/start-embedded-postgres.ts'
import { killEmbeddedPostgresProcesses } from './fork-embedded-postgres.ts'
import { removeAbandonedTempDirs, type TempDir, createTempDir } from './temp-dir.ts'

/** Clusters that a test may kill. Each test has its own and removes them with `discardClusters`. */
const folders: TempDir[] = []
const servers: EmbeddedPostgres[] = []
let prepared: Promise<TempDir> | undefined

export function createEmptyDataDir(): string {
  const folder = createTempDir()
  folders.push(folder)
  return folder.path
}

/** Copies a data directory in which a server has run, because initializing one takes a second. */
export async function createInitializedDataDir(): Promise<string> {
  prepared ??= prepareCluster()
  const dataDir = createEmptyDataDir()
  copyDataDir((await prepared).path, dataDir)
  return dataDir
}

export function copyDataDir(from: string, to: string): void {
  const { status, stderr } = spawnSync('cp', ['-a', `${from}/.`, to], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

/** Starts the server in this process. */
export async function startServer(
  dataDir: string,
  options: Partial<EmbeddedPostgresOptions> = {},
): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, ...options })
  servers.push(server)
  return server
}

export async function queryRow(url: string, sql: string): Promise<Record<string, unknown>> {
  const { rows } = await withClient(url, (client) => client.query<Record<string, unknown>>(sql))
  return rows[0] ?? {}
}

export function hasRunningServer(dataDir: string): boolean {
  return findLivePostmaster(dataDirectory(dataDir)) !== undefined
}

export async function discardClusters(): Promise<void> {
  killEmbeddedPostgresProcesses()
  for (const server of servers.splice(0)) await server.stop()
  for (const folder of folders.splice(0)) await folder.remove()
}

export async function discardPreparedCluster(): Promise<void> {
  await (await prepared)?.remove()
  prepared = undefined
}

async function prepareCluster(): Promise<TempDir> {
  await removeAbandonedTempDirs()
  const folder = createTempDir()
  const server = await startEmbeddedPostgres({ dataDir: folder.path })
  await server.stop()
  return folder
}
