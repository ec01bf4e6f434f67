import { mkdtempSync, chmodSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/start-embedded-postgres.ts'

export type BenchDatabase = { url: string; adminUrl: string; postmasterPid: number; dataDir: string }

/** What a process of Parley needs to work on that database, and to be called from many addresses. */
export function environmentOf({ url, dataDir }: BenchDatabase): Record<string, string> {
  return {
    PORT: '0',
    DATABASE_URL: url,
    DATA_DIR: dataDir,
    SECRET_KEY: 'ab'.repeat(32),
    TRUSTED_PROXIES: '127.0.0.1/32',
  }
}

/** A Postgres as it is by default, fsync on, that goes away afterwards. */
export async function withThrowAwayDatabase<T>(work: (database: BenchDatabase) => Promise<T>): Promise<T> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  // A root process drops its rights for the server, which must be able to pass through.
  chmodSync(dataDir, 0o711)
  const server = await startEmbeddedPostgres({ dataDir })
  try {
    const { connectionString: url, adminConnectionString: adminUrl, pid: postmasterPid } = server
    return await work({ url, adminUrl, postmasterPid, dataDir })
  } finally {
    await server.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Whether some message waits to be taken by a run, or to be sent. */
export async function isBusy(database: pg.Client): Promise<boolean> {
  const { rows } = await database.query<{ isBusy: boolean }>(
    'select exists (select from mailbox_items) or exists (select from outbox) as "isBusy"',
  )
  return rows[0]?.isBusy ?? true
}

/** The database's own clock: what it has written since is compared with it. */
export async function databaseTime(database: pg.Client): Promise<Date> {
  const { rows } = await database.query<{ now: Date }>('select clock_timestamp() as now')
  return rows[0]?.now as Date
}
