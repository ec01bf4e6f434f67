import { mkdtempSync, chmodSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/start-embedded-postgres.ts'

export type BenchDatabase = { url: string; adminUrl: string; postmasterPid: number; dataDir: string }

/** Converts a database to the environment of a Parley process that uses it and trusts the client addresses of the bench. */
export function toEnvironment({ url, dataDir }: BenchDatabase): Record<string, string> {
  return {
    PORT: '0',
    DATABASE_URL: url,
    MIGRATE_ON_START: 'true',
    DATA_DIR: dataDir,
    SECRET_KEY: 'ab'.repeat(32),
    TRUSTED_PROXIES: '127.0.0.1/32',
  }
}

/**
 * Starts a Postgres server with default settings unless others are named, fsync included, and removes it and its data
 * afterwards.
 */
export async function withTempDatabase<T>(
  work: (database: BenchDatabase) => Promise<T>,
  settings: Record<string, string> = {},
): Promise<T> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  // A root process runs the server as another user, who needs to traverse this folder.
  chmodSync(dataDir, 0o711)
  const server = await startEmbeddedPostgres({ dataDir, settings })
  try {
    const { socketConnectionString: url, adminConnectionString: adminUrl, pid: postmasterPid } = server
    return await work({ url, adminUrl, postmasterPid, dataDir })
  } finally {
    await server.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Checks whether any mailbox item or outbound message is still to be processed, on a distributed database, too. */
export async function hasPendingWork(database: pg.Client): Promise<boolean> {
  const { rows } = await database.query<{ isPending: boolean }>(
    `select (select count(*) from (select 1 from mailbox_items limit 1) i)
       + (select count(*) from (select 1 from outbox limit 1) o) > 0 as "isPending"`,
  )
  return rows[0]?.isPending ?? true
}

/** Reads the clock of the database, for comparison with timestamps that it has written. */
export async function readDatabaseTime(database: pg.Client): Promise<Date> {
  const { rows } = await database.query<{ now: Date }>('select clock_timestamp() as now')
  return rows[0]?.now as Date
}
