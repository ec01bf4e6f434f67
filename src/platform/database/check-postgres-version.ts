import type { Database } from './database.ts'

const VERSION_MIN = 150000

/** @throws Error with a sentence for the operator when the server is too old, or would lose what it acknowledged */
export async function checkPostgresVersion(db: Database, log: { warn(message: string): void }): Promise<void> {
  const { rows } = await db.raw<{ rows: { version: number; fsync: string }[] }>(
    `select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync`,
  )
  const { version, fsync } = rows[0] as { version: number; fsync: string }
  if (version < VERSION_MIN) {
    throw new Error(`Parley needs Postgres 15 or newer; the server at DATABASE_URL is ${Math.floor(version / 10000)}`)
  }
  if (fsync !== 'on') log.warn('the database runs with fsync off: a power cut loses what was acknowledged')
}
