import pg from 'pg'
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/start-embedded-postgres.ts'

/**
 * Main module of a process that uses an embedded server and reports over its IPC channel. On SIGINT it drains: it
 * finishes a number of queries and only then releases the server.
 */
export type Command = 'write' | 'stop'

export type Report =
  | { kind: 'started'; adopted: boolean; pid: number; adminConnectionString: string; connectionString: string }
  | { kind: 'refused'; message: string }
  | { kind: 'written'; id: number }
  | { kind: 'drained'; answered: number; failures: string[] }
  | { kind: 'stopped' }

const DRAINED_QUERIES = 20

const report = (message: Report) => process.send?.(message)
const interrupted = new Promise<void>((resolve) => process.once('SIGINT', () => resolve()))
process.once('disconnect', () => process.exit())

try {
  const server = await startEmbeddedPostgres({ dataDir: process.argv[2] ?? '' })
  const { adopted, pid, adminConnectionString, connectionString } = server
  const pool = new pg.Pool({ connectionString, max: 2 })
  pool.on('error', () => {})
  const finish = async () => {
    await pool.end()
    await server.stop()
    report({ kind: 'stopped' })
    process.disconnect()
  }
  process.on('message', (order: Command) => void (order === 'write' ? write(pool).catch(() => undefined) : finish()))
  void interrupted.then(() => drain(pool)).then(finish)
  report({ kind: 'started', adopted, pid, adminConnectionString, connectionString })
} catch (error) {
  report({ kind: 'refused', message: error instanceof Error ? error.message : String(error) })
  process.disconnect()
}

/** Reports each row after the server has confirmed it, until the process or the server is killed. */
async function write(pool: pg.Pool): Promise<void> {
  await pool.query('create table if not exists written (id int primary key)')
  const { rows } = await pool.query('select coalesce(max(id), 0) as last from written')
  for (let id = rows[0].last + 1; ; id++) {
    await pool.query('insert into written values ($1)', [id])
    report({ kind: 'written', id })
  }
}

async function drain(pool: pg.Pool): Promise<void> {
  const failures: string[] = []
  for (let query = 0; query < DRAINED_QUERIES; query++) {
    await pool.query('select pg_sleep(0.02)').catch((error: Error) => failures.push(error.message))
  }
  report({ kind: 'drained', answered: DRAINED_QUERIES - failures.length, failures })
}
