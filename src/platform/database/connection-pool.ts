import { FairSemaphore } from '../concurrency/fair-semaphore.ts'
import { cancelStatement } from './cancel-statement.ts'
import { closeDatabase, type Database, openDatabase, type PoolSettings } from './database.ts'
import { type Connections, deriveDatabase } from './derive-database.ts'

/** The work that statements belong to. */
export type Work = {
  /** The workspace whose share of the connections is used; null for work of no workspace. */
  workspaceId: string | null
  /** Cancels the statement in progress and prevents further ones. */
  signal?: AbortSignal | undefined
}

/** Provides the databases of scopes. Operations receive theirs from a scope and do not choose a pool. */
export type DatabaseSource = {
  /** For work of no workspace. */
  db: Database
  forWork(work: Work): Database
}

/** A source for work that must use one connection, such as that of a transaction. */
export function singleDatabase(db: Database): DatabaseSource {
  return { db, forWork: () => db }
}

type Options = {
  url: string
  /** The kind of work. */
  name: string
  settings: PoolSettings
  /** The part of the connections that one workspace may use at a time. */
  share: number
}

const CANCEL_AGAIN_MS = 500

/**
 * The connections of one kind of work. A workspace uses a bounded share of them, and workspaces that wait are served
 * round-robin, so that slow statements of one workspace leave connections to the others.
 */
export class ConnectionPool implements DatabaseSource {
  readonly db: Database
  readonly #pool: Database
  readonly #slots: FairSemaphore
  /** By connection in use: ends the wait for the signal. */
  readonly #watched = new Map<object, () => void>()
  /** Connections that are not used again: the cancel request may arrive late and would hit their next statement. */
  readonly #canceled = new WeakSet<object>()

  constructor({ url, name, settings, share }: Options) {
    this.#pool = openDatabase(url, {
      ...settings,
      name: `parley ${name}`,
      isUsable: (connection) => !this.#canceled.has(connection),
    })
    this.#slots = new FairSemaphore({
      width: settings.connections,
      widthPerKey: Math.ceil(settings.connections * share),
      waitMaxMs: settings.acquireTimeoutMs,
    })
    this.db = this.forWork({ workspaceId: null })
  }

  forWork({ workspaceId, signal }: Work): Database {
    const pool: Connections = this.#pool.client
    return deriveDatabase(this.#pool, {
      acquireConnection: async () => {
        await this.#slots.acquire(workspaceId, signal)
        try {
          const connection = await pool.acquireConnection()
          if (signal) this.#watch(connection, signal)
          return connection
        } catch (error) {
          this.#slots.release(workspaceId)
          throw error
        }
      },
      releaseConnection: async (connection) => {
        this.#watched.get(connection)?.()
        await pool.releaseConnection(connection)
        this.#slots.release(workspaceId)
      },
    })
  }

  close(): Promise<void> {
    return closeDatabase(this.#pool)
  }

  #watch(connection: object, signal: AbortSignal): void {
    let repetition: NodeJS.Timeout | undefined
    const cancel = () => {
      this.#canceled.add(connection)
      cancelStatement(connection)
      // A request that overtakes its statement has no effect.
      repetition = setInterval(() => cancelStatement(connection), CANCEL_AGAIN_MS)
    }
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
    this.#watched.set(connection, () => {
      clearInterval(repetition)
      signal.removeEventListener('abort', cancel)
      this.#watched.delete(connection)
    })
  }
}
