import { FairSemaphore } from '../../concurrency/fair-semaphore.ts'
import { metrics, observeSince } from '../../metrics.ts'
import { cancelStatement } from '../cancel-statement.ts'
import type { Nodes } from './nodes.ts'
import { SharedTransactions } from './shared-transactions.ts'
import { transact } from '../transaction.ts'
import { closeDatabase, type Database, openDatabase, type PoolSettings } from '../database.ts'
import { type Connections, deriveDatabase } from '../derive-database.ts'

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
  /** Returns the transactions that a workspace may share with others. A transaction has none. */
  findSharedTransactions?(workspaceId: string): SharedTransactions
}

/** A source for work that must use one connection, such as that of a transaction. */
export function singleDatabase(db: Database): DatabaseSource {
  return { db, forWork: () => db }
}

type Options = {
  url: string
  isPooled: boolean
  /** The kind of work. */
  name: string
  settings: PoolSettings
  /** The part of the connections that one workspace may use at a time. */
  share: number
  /** A statement that is executed on each new connection. */
  prepareSession: string | undefined
  /** The longest wait for a lock; undefined until the statement is canceled. */
  lockTimeoutMs: number | undefined
  /** The nodes of a distributed database, which execute the statements of their workspaces. */
  nodes?: Nodes | undefined
}

/** Work that uses the share of a workspace or node, if it is of one. */
type Slot = { slotKey: string | null; neighbourId: string | null; signal?: AbortSignal | undefined }

const CANCEL_AGAIN_MS = 500

const SHARED = { width: 2, holdMaxMs: 100, sizeMax: 50, partsMax: 20 }

/**
 * The connections of one kind of work. A workspace uses a bounded share of them, and workspaces that wait are served
 * round-robin, so that slow statements of one workspace leave connections to the others.
 */
export class ConnectionPool implements DatabaseSource {
  readonly db: Database
  readonly #name: string
  readonly #pool: Database
  readonly #nodes: Nodes | undefined
  readonly #open: (url: string, server: { isNode: boolean }) => Database
  /** The connections to nodes by the URL of the node, which the slots limit together with those of `#pool`. */
  readonly #nodePools = new Map<string, Database>()
  /** The transactions that workspaces share by the URL of their node; those of the others are at undefined. */
  readonly #sharedTransactions = new Map<string | undefined, SharedTransactions>()
  /** The pools of connections to nodes. */
  readonly #origins = new WeakMap<object, Database>()
  readonly #slots: FairSemaphore
  /** Connections that are not used again: the cancel request may arrive late and would hit their next statement. */
  readonly #canceled = new WeakSet<object>()

  constructor({ url, isPooled, name, settings, share, prepareSession, lockTimeoutMs, nodes }: Options) {
    this.#name = name
    this.#open = (server, { isNode }) =>
      openDatabase(server, {
        ...settings,
        isPooled,
        isNode,
        // A node plans each statement with its values, as those to it have no names.
        ...(prepareSession === undefined || isNode ? {} : { prepareSession }),
        ...(lockTimeoutMs === undefined ? {} : { lockTimeoutMs }),
        name: `parley ${name}`,
        isUsable: (connection) => !this.#canceled.has(connection),
      })
    this.#pool = this.#open(url, { isNode: false })
    this.#nodes = nodes
    this.#slots = new FairSemaphore({
      width: settings.connections,
      widthPerKey: Math.ceil(settings.connections * share),
      waitMaxMs: settings.acquireTimeoutMs,
    })
    this.db = this.forWork({ workspaceId: null })
  }

  /** Those of a distributed database are shared by the workspaces of a node, as a commit on several nodes has two phases. */
  findSharedTransactions(workspaceId: string): SharedTransactions {
    const url = this.#nodes?.findUrl(workspaceId)
    const known = this.#sharedTransactions.get(url)
    if (known) return known
    const opened = new SharedTransactions({
      open: ([first = null, ...others], work) =>
        transact(this.#deriveFor({ slotKey: others.length === 0 ? first : (url ?? null), neighbourId: first }), work),
      isOfNode: url !== undefined,
      ...SHARED,
    })
    this.#sharedTransactions.set(url, opened)
    return opened
  }

  forWork({ workspaceId, signal }: Work): Database {
    return this.#deriveFor({ slotKey: workspaceId, neighbourId: workspaceId, signal })
  }

  /** The connections are those to the node of `neighbourId`, one of the workspaces of the work. */
  #deriveFor({ slotKey, neighbourId, signal }: Slot): Database {
    const statements = signal && new CancelableStatements(signal, this.#canceled)
    return deriveDatabase(this.#pool, {
      acquireConnection: async () => {
        const startMs = performance.now()
        await this.#slots.acquire(slotKey, signal)
        try {
          const connection = await this.#acquire(neighbourId)
          statements?.add(connection)
          observeSince(metrics.poolWait, { pool: this.#name }, startMs)
          return connection
        } catch (error) {
          this.#slots.release(slotKey)
          throw error
        }
      },
      releaseConnection: async (connection) => {
        statements?.delete(connection)
        const pool: Connections = (this.#origins.get(connection) ?? this.#pool).client
        await pool.releaseConnection(connection)
        this.#slots.release(slotKey)
      },
    })
  }

  /** Acquires a connection to the node of the workspace, if it is known and reachable, or else to the server of the pool. */
  async #acquire(workspaceId: string | null): Promise<object> {
    const url = workspaceId === null ? undefined : this.#nodes?.findUrl(workspaceId)
    const nodePool = url === undefined ? undefined : this.#findNodePool(url)
    const pool: Connections = this.#pool.client
    if (url === undefined || !nodePool) return pool.acquireConnection()
    try {
      const connection: object = await nodePool.client.acquireConnection()
      this.#origins.set(connection, nodePool)
      return connection
    } catch {
      this.#nodes?.suspect(url)
      return pool.acquireConnection()
    }
  }

  #findNodePool(url: string): Database {
    const known = this.#nodePools.get(url)
    if (known) return known
    const opened = this.#open(url, { isNode: true })
    this.#nodePools.set(url, opened)
    return opened
  }

  /** Connections in use and idle ones, those to nodes included, and work that waits for one. */
  countConnections(): { used: number; idle: number; waiting: number } {
    const pools = [this.#pool, ...this.#nodePools.values()].map(({ client }) => client.pool)
    const used = pools.reduce((total, pool) => total + pool.numUsed(), 0)
    const idle = pools.reduce((total, pool) => total + pool.numFree(), 0)
    return { used, idle, waiting: this.#slots.countWaiting() }
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool, ...this.#nodePools.values()].map(closeDatabase))
  }
}

/** The connections that execute statements of one piece of work, until its signal aborts. */
class CancelableStatements {
  readonly #signal: AbortSignal
  readonly #canceled: WeakSet<object>
  readonly #connections = new Set<object>()
  #isListening = false
  #repetition: NodeJS.Timeout | undefined

  constructor(signal: AbortSignal, canceled: WeakSet<object>) {
    this.#signal = signal
    this.#canceled = canceled
  }

  add(connection: object): void {
    this.#connections.add(connection)
    if (this.#signal.aborted) this.#cancel()
    else if (!this.#isListening) this.#signal.addEventListener('abort', () => this.#cancel(), { once: true })
    this.#isListening = true
  }

  delete(connection: object): void {
    this.#connections.delete(connection)
    if (this.#connections.size === 0) clearTimeout(this.#repetition)
  }

  /** Repeats the requests until the statements have ended, as a request that overtakes its statement has no effect. */
  #cancel(): void {
    clearTimeout(this.#repetition)
    if (this.#connections.size === 0) return
    for (const connection of this.#connections) {
      this.#canceled.add(connection)
      cancelStatement(connection)
    }
    this.#repetition = setTimeout(() => this.#cancel(), CANCEL_AGAIN_MS)
  }
}
