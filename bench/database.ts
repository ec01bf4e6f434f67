import { mkdtempSync, chmodSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/start-embedded-postgres.ts'

export type BenchDatabase = { url: string; adminUrl: string; postmasterPid: number; dataDir: string }

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
