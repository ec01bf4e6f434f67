import { withinTime } from '../concurrency/deadline.ts'
import { newId } from '../ids.ts'
import { SECOND } from '../time.ts'
import { type Database, sqlState } from './database.ts'
import { compareMigrations } from './migrate.ts'

const PROBE_MAX_MS = 5 * SECOND

const PROBLEMS: Record<string, string> = {
  '25006': 'database is read-only',
  '53100': 'database has no disk space',
}

/**
 * Returns a function that finds why the database cannot serve this process. It stores a row, over connections of another
 * kind of work, as a database without disk space and a standby still answer reads.
 */
export function createReadinessProbe(dbs: { reading: Database; writing: Database }): () => Promise<string | undefined> {
  const id = newId()
  const findProblem = async () => {
    // Those of newer versions are no problem: each version works with the schema of the next one.
    if ((await compareMigrations(dbs.reading)).missing.length > 0) return 'migrations pending'
    await storeRow(dbs.writing, id)
    return undefined
  }
  return () =>
    withinTime(PROBE_MAX_MS, findProblem()).catch(
      (error: unknown) => PROBLEMS[sqlState(error) ?? ''] ?? 'database unreachable',
    )
}

/** The row fills most of a page, so that each version of it needs space. Rows of processes that ended are deleted. */
async function storeRow(db: Database, id: string): Promise<void> {
  await db.raw(
    `with ended as (
       select id from readiness_probes where checked_at < now() - interval '1 hour' for update skip locked),
     deleted as (delete from readiness_probes where id in (select id from ended))
     insert into readiness_probes (id, checked_at, padding) values (?, now(), repeat('x', 5000))
     on conflict (id) do update set checked_at = excluded.checked_at, padding = excluded.padding`,
    [id],
  )
}
