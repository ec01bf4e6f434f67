import { once } from 'node:events'
import type { Knex } from 'knex'
import type pg from 'pg'
import { withinTime } from '../concurrency/deadline.ts'
import { SECOND } from '../time.ts'
import { cancelStatement } from './cancel-statement.ts'
import { findSocket } from './connections.ts'
import { type Database, isOutage, sqlState } from './database.ts'
import { deriveDatabase } from './derive-database.ts'

/** A statement with the parameters of Postgres, and its result with rows as lists. */
export type ArrayStatement = pg.QueryArrayConfig<unknown[]>
export type ArrayResult = pg.QueryArrayResult<unknown[]>

/** A connection that does not answer a rollback in this time is closed, which also rolls back. */
const ROLLBACK_MAX_MS = 5 * SECOND

/** SQLSTATE of a statement that the server refuses because an earlier one of its transaction has failed. */
const TRANSACTION_ABORTED = '25P02'

const transactions = new WeakMap<Database, Transaction>()

/** Returns the transaction that a database executes its statements in, unless it executes each on its own. */
export function findTransaction(db: Database): Transaction | undefined {
  return transactions.get(db)
}

/**
 * Executes work in a transaction and commits it, or rolls it back and rejects if the work fails. In a transaction, also in
 * one that knex has begun, the work is an inner one, which is rolled back alone. Composed statements that the work has sent are committed with it, awaited or
 * not; later ones are refused.
 * @throws the error of the work, or of the first statement that failed, also if the work has caught it
 */
export async function transact<T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T> {
  const outer = findTransaction(db) ?? (isOfKnex(db) ? await adoptTransaction(db) : undefined)
  if (outer) return outer.nest(work)
  const connection: pg.Client = await db.client.acquireConnection()
  try {
    return await new Transaction(db, connection).run(work)
  } finally {
    await db.client.releaseConnection(connection)
  }
}

function isOfKnex(db: Database): db is Knex.Transaction {
  return db.isTransaction === true
}

/** Returns the one that all inner transactions share, which are executed one after the other. knex ends it. */
async function adoptTransaction(db: Knex.Transaction): Promise<Transaction> {
  const connection: pg.Client = await db.client.acquireConnection()
  const adopted = findTransaction(db) ?? new Transaction(db, connection)
  transactions.set(db, adopted)
  return adopted
}

/**
 * Calls `effects` after the commit, also if the connection was lost with the response: the transaction may be committed,
 * and the effects of one that is not do no harm. An outer transaction may go on after an inner one that was lost.
 */
export async function afterCommit<T>(committed: Promise<T>, effects: () => void, { isInner = false } = {}): Promise<T> {
  try {
    const result = await committed
    effects()
    return result
  } catch (error) {
    if (!isInner && isOutage(error)) effects()
    throw error
  }
}

/** Leaves it to the commit to report the failure of a statement, so that it follows without waiting for the response. */
export function leaveToCommit<T>(statement: Promise<T>): Promise<T> {
  statement.catch(() => {})
  return statement
}

/**
 * A transaction, or an inner one between savepoints. A transaction of knex builds a query builder with all of its methods,
 * which costs more than a statement.
 */
export class Transaction {
  readonly #pool: Database
  readonly #db: Database
  readonly #connection: pg.Client
  readonly #outer: Transaction | undefined
  /** Name of the savepoint of an inner transaction. */
  readonly #savepoint: string
  #isEnded = false
  /** The first statement that failed, and with it the transaction. */
  #failure: unknown
  /** The last of the inner transactions, which are executed one after the other. */
  #inner: Promise<unknown> = Promise.resolve()

  constructor(pool: Database, connection: pg.Client, outer?: Transaction) {
    this.#pool = pool
    this.#connection = connection
    this.#outer = outer
    this.#savepoint = outer ? `${outer.#savepoint}_inner` : 'savepoint'
    this.#db = deriveDatabase(pool, {
      acquireConnection: async () => connection,
      releaseConnection: async () => {},
      // The query builder sends its statements later than it acquires the connection.
      query: (_, statement) => this.#send(() => pool.client.query(connection, statement)),
      transaction: (work) => this.nest(work),
    })
    transactions.set(this.#db, this)
  }

  get hasEnded(): boolean {
    if (this.#outer) return this.#isEnded || this.#outer.hasEnded
    return this.#isEnded || (isOfKnex(this.#pool) && this.#pool.isCompleted())
  }

  /** Begins, unless `nest` has done so, executes the work and commits. */
  async run<T>(work: (tx: Database) => Promise<T>): Promise<T> {
    try {
      if (!this.#outer) await this.#connection.query('begin')
      const result = await work(this.#db)
      this.#assertOpen()
      this.#isEnded = true
      const { command } = await this.#connection.query(this.#outer ? `release savepoint ${this.#savepoint}` : 'commit')
      if (command !== 'ROLLBACK') return result
    } catch (error) {
      this.#isEnded = true
      // With an outer one that has ended, the connection is used by others.
      if (!this.#outer?.hasEnded) await this.#rollBack()
      throw this.#findCause(error)
    }
    // The server has refused to commit because of the error of a statement, which it does not report again.
    throw this.#failure ?? new Error('A statement of the transaction failed, so nothing was committed')
  }

  nest<T>(work: (tx: Database) => Promise<T>): Promise<T> {
    const result = this.#inner.then(async () => {
      const inner = new Transaction(this.#pool, this.#connection, this)
      try {
        await this.#send(() => this.#connection.query(`savepoint ${inner.#savepoint}`))
      } catch (error) {
        throw this.#findCause(error)
      }
      return inner.run(work)
    })
    this.#inner = result.catch(() => {})
    return result
  }

  /** Sends a statement at once, with those that are sent in the same turn of the event loop. */
  execute(statement: ArrayStatement): Promise<ArrayResult> {
    return this.#send(() => this.#connection.query(statement))
  }

  async #send<T>(send: () => Promise<T>): Promise<T> {
    this.#assertOpen()
    try {
      return await send()
    } catch (error) {
      if (sqlState(error) !== TRANSACTION_ABORTED) this.#failure ??= error
      throw error
    }
  }

  #assertOpen(): void {
    if (this.hasEnded) throw new Error('The transaction has ended. Await all of its statements')
  }

  /** Finds the error that ended the transaction: a statement behind the one that failed may be reported first. */
  #findCause(error: unknown): unknown {
    return sqlState(error) === TRANSACTION_ABORTED ? (this.#failure ?? error) : error
  }

  /** Closes a connection that does not answer in time: it is still in the transaction, and must not be used again. */
  async #rollBack(): Promise<void> {
    try {
      const rollback = this.#outer ? `rollback to savepoint ${this.#savepoint}` : 'rollback'
      await withinTime(ROLLBACK_MAX_MS, this.#connection.query(rollback))
    } catch {
      const socket = findSocket(this.#connection)
      if (!socket || socket.closed) return
      // The server would execute the statement in progress to its end.
      cancelStatement(this.#connection)
      // The pool learns that the connection is closed by this event, before others can acquire it.
      const closed = once(socket, 'close')
      socket.destroy(new Error('Connection terminated: the rollback failed'))
      await closed.catch(() => {})
    }
  }
}
