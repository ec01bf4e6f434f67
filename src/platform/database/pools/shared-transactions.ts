import { type Database, isGeneralOutage, isOutageBehindServer } from '../database.ts'
import { createSqlTag } from '../sql.ts'
import { leaveToCommit } from '../transaction.ts'

/** The work of one caller in a transaction. `isShared` is true if the transaction contains that of others, too. */
type Work<T> = (db: Database, isShared: boolean) => Promise<T>

type Part = {
  key: string
  size: number
  /** True after a failure of a transaction that it shared. */
  isAlone: boolean
  execute: Work<void>
  /** Passes the result on, after the commit. */
  commit: () => void
  reject: (error: unknown) => void
}

type Options = {
  /** Executes the work of keys in a transaction. */
  open: <T>(keys: readonly string[], work: (db: Database) => Promise<T>) => Promise<T>
  /** True if the rows of all keys are on one node of a distributed database. */
  isOfNode: boolean
  /** Transactions at a time, unless all are of one key. More would make each of them contain less. */
  width: number
  /** A transaction that takes longer makes room for the next one, so that it delays others only this long. */
  holdMaxMs: number
  /** The largest size of a transaction of several parts. A larger part has its own. */
  sizeMax: number
  /** The most parts of a transaction. What one of them computes, and a connection that falls silent, delays the others. */
  partsMax: number
}

/** Longest wait for a lock, and longest statement, in a transaction of several parts: all of them wait for it. */
const LOCK_TIMEOUT = '50ms'
const STATEMENT_TIMEOUT = '1s'

/** The work needs a transaction that nobody else uses. It is repeated in its own. */
export class SharedTransactionError extends Error {
  override name = 'SharedTransactionError'
}

/**
 * Executes the work of several callers in one transaction, because many small transactions cost more waits and commits
 * than they do work. Work that arrives while others are in progress shares the next transaction; what arrives alone has
 * its own, at once. Work of one key is never in the same transaction. If any of it fails, all is rolled back,
 * and each part is repeated in its own transaction: it must have no effects outside of it.
 */
export class SharedTransactions {
  readonly #options: Options
  #waiting: Part[] = []
  /** The keys of each open transaction that has not made room. */
  readonly #places = new Set<string[]>()
  #isDistributed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Resolves after the commit. Work of a smaller size leaves more room for that of other keys. */
  run<T>(key: string, size: number, work: Work<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let commit = () => reject(new Error('the work was not executed'))
      const execute = async (db: Database, isShared: boolean) => {
        const result = await work(db, isShared)
        commit = () => resolve(result)
      }
      this.#waiting.push({ key, size: Math.max(1, size), isAlone: false, execute, commit: () => commit(), reject })
      this.#startNext()
    })
  }

  #startNext(): void {
    while (this.#mayStart()) {
      const parts = this.#takeNext()
      const keys = parts.map(({ key }) => key)
      this.#places.add(keys)
      const makeRoom = () => {
        if (this.#places.delete(keys)) this.#startNext()
      }
      const timer = setTimeout(makeRoom, this.#options.holdMaxMs)
      void this.#execute(parts).finally(() => {
        clearTimeout(timer)
        this.#places.delete(keys)
        this.#startNext()
      })
    }
  }

  #mayStart(): boolean {
    const [first] = this.#waiting
    if (!first) return false
    if (this.#isDistributed || this.#places.size < this.#options.width) return true
    // What waits could only share with work of other keys, of which there is none.
    const isOfOneKey = (keys: string[]) => keys.length === 1 && keys[0] === first.key
    return [...this.#places].every(isOfOneKey) && this.#waiting.every(({ key }) => key === first.key)
  }

  /** Takes the part that has waited longest, and those behind it that fit into its transaction. */
  #takeNext(): Part[] {
    const { sizeMax, partsMax } = this.#options
    const taken = new Map<string, Part>()
    let room = sizeMax
    let isFull = false
    this.#waiting = this.#waiting.filter((part) => {
      const isAlone = part.isAlone || this.#isDistributed
      const fits = taken.size === 0 || (!isAlone && !taken.has(part.key) && part.size <= room)
      if (isFull || !fits) return true
      taken.set(part.key, part)
      room -= part.size
      isFull = isAlone || room <= 0 || taken.size === partsMax
      return false
    })
    return [...taken.values()]
  }

  async #execute(parts: Part[]): Promise<void> {
    const [first] = parts
    try {
      if (first && parts.length === 1) await this.#options.open([first.key], (db) => first.execute(db, false))
      else await this.#executeTogether(parts)
      for (const { commit } of parts) commit()
    } catch (error) {
      if (parts.length === 1 || this.#isOutageOfAll(error)) for (const { reject } of parts) reject(error)
      else this.#waiting.unshift(...parts.map((part) => ({ ...part, isAlone: true })))
    }
  }

  /** A node that lost another one, whose rows a part needs, has rolled back and serves the other parts. */
  #isOutageOfAll(error: unknown): boolean {
    return isGeneralOutage(error) && !(this.#options.isOfNode && isOutageBehindServer(error))
  }

  #executeTogether(parts: Part[]): Promise<void> {
    const keys = parts.map(({ key }) => key)
    return this.#options.open(keys, async (db) => {
      // All are awaited, even if one fails: they use the same connection. The first statement is sent before the others.
      const timeout = this.#prepare(db)
      const outcomes = await Promise.allSettled([timeout, ...parts.map(({ execute }) => execute(db, true))])
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
      // The commit may wait for a standby, which the timeout would end too early.
      const statementTimeout = await timeout
      leaveToCommit(createSqlTag(db, 'endSharedTransaction')`
        select set_config('statement_timeout', ${statementTimeout}, true)`)
    })
  }

  /**
   * Limits the time of statements and returns the limit of the connection. Without knowledge of the nodes, a distributed
   * database would commit the rows of several workspaces on several nodes, in two phases.
   */
  async #prepare(db: Database): Promise<string> {
    const [row] = await createSqlTag<{ timeout: string; isDistributed: boolean }>(db, 'prepareSharedTransaction')`
      select current_setting('statement_timeout') as timeout,
        set_config('lock_timeout', ${LOCK_TIMEOUT}, true), set_config('statement_timeout', ${STATEMENT_TIMEOUT}, true),
        exists (select from pg_extension where extname = 'citus') as is_distributed`
    this.#isDistributed = !this.#options.isOfNode && row?.isDistributed !== false
    if (!row || this.#isDistributed) throw new SharedTransactionError('The database is distributed')
    return row.timeout
  }
}
