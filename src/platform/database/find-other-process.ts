import { dataDirectory } from '../embedded-postgres/data-directory.ts'
import { listLivePidFiles, pidFilePid } from '../embedded-postgres/pid-files.ts'
import type { Database } from './database.ts'
import type { ResolvedDatabase } from './resolve-database.ts'

/**
 * Returns a sentence about a process of Parley that uses the database besides this one, which may have rows in memory;
 * undefined if there is none. `db` is the only connection of this process.
 */
export async function findOtherProcess(
  db: Database,
  { isEmbedded }: Pick<ResolvedDatabase, 'isEmbedded'>,
  dataDir: string,
): Promise<string | undefined> {
  const files = isEmbedded ? listLivePidFiles(dataDirectory(dataDir).clients) : []
  const [pid] = files.map(pidFilePid).filter((one) => one !== process.pid)
  if (pid !== undefined) return `The process ${pid} uses the database. Stop it first`
  const { rows } = await db.raw<{ rows: { pid: number; application_name: string }[] }>(
    `select pid, application_name from pg_stat_activity
     where datname = current_database() and application_name like 'parley%' and pid <> pg_backend_pid() limit 1`,
  )
  const [session] = rows
  if (!session) return undefined
  const { application_name: application } = session
  return `Another process of Parley uses the database, by the session ${session.pid} "${application}". Stop it first`
}
