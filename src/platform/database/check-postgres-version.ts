import type { Database } from './database.ts'

const VERSION_MIN = 150000

/** Warns if fsync is off. @throws Error with an instruction for the operator when the server is too old */
export async function checkPostgresVersion(db: Database, log: { warn(message: string): void }): Promise<void> {
  const { rows } = await db.raw<{ rows: [{ version: number; fsync: string }] }>(
    `select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync`,
  )
  const [{ version, fsync }] = rows
  if (version < VERSION_MIN) {
    throw new Error(
      `Parley needs Postgres 15 or newer. The server at DATABASE_URL has version ${Math.floor(version / 10000)}`,
    )
  }
  if (fsync !== 'on') log.warn('fsync is off in the database: a power failure loses acknowledged data')
}
