import type pg from 'pg'
import { withinTime } from '../../concurrency/deadline.ts'
import { SECOND } from '../../time.ts'
import { findSocket } from '../connections.ts'
import { type Database, sqlState } from '../database.ts'
import { deriveDatabase } from './derive-database.ts'

/** A statement with the parameters of Postgres, and its result with rows as lists. */
export type ArrayStatement = pg.QueryArrayConfig<unknown[]>
export type ArrayResult = pg.QueryArrayResult<unknown[]>

/** A connection that does not answer a rollback in this time is closed, which also rolls back. */
const ROLLBACK_MAX_MS = 5 * SECOND

/** SQLSTATE of a statement that the server refuses because an earlier one of its transaction has failed. */
const TRANSACTION_ABORTED = '25P02'

type Commands = { begin: string; commit: string; rollback: string }

const OUTERMOST: Commands = { begin: 'begin', commit: 'commit', rollback: 'rollback' }

const transactions = new WeakMap<Database, Transaction>()

/** Returns the transaction that a database executes its statements in, unless it executes each on its own. */
export function findTransaction(db: Database): Transaction | undefined {
  return transactions.get(db)
}

/**
 * Executes work in a transaction and commits it, or rolls it back and rejects if the work fails. In a transaction, the work
 * is an inner one, which is rolled back alone. Everything that the work has sent is committed with it, awaited or not.
 */
export async function transact<T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T> {
  const outer = findTransaction(db)
  if (outer) return outer.nest(work)
  const connection: pg.Client = await db.client.acquireConnection()
  try {
    return await new Transaction(db, connection, OUTERMOST).run(work)
  } finally {
    await db.client.releaseConnection(connection)
  }
}

/** Leaves it to the commit to report the failure of a statement, so that it follows without waiting for the response. */
export function leaveToCommit(statement: Promise<unknown>): void {
  statement.catch(() => {})
}

/**
 * A transaction, or an inner one between savepoints. That of knex builds a query builder with all methods for each one,
 * which costs more than a statement.
 */
export class Transaction {
  readonly #db: Database
  readonly #connection: pg.Client
  readonly #commands: Commands
  readonly #depth: number
  #isEnded = false
  /** The first statement that failed, and with it the transaction. */
  #failure: unknown
  /** The last of the inner transactions, which are executed one after the other. */
  #inner: Promise<unknown> = Promise.resolve()

  constructor(db: Database, connection: pg.Client, commands: Commands, depth = 0) {
    this.#connection = connection
    this.#commands = commands
    this.#depth = depth
    this.#db = deriveDatabase(db, {
      acquireConnection: async () => {
        this.#assertOpen()
        return connection
      },
      releaseConnection: async () => {},
    })
    transactions.set(this.#db, this)
  }

  async run<T>(work: (tx: Database) => Promise<T>): Promise<T> {
    const { begin, commit } = this.#commands
    try {
      await this.#connection.query(begin)
      const result = await work(this.#db)
      this.#isEnded = true
      const { command } = await this.#connection.query(commit)
      if (command !== 'ROLLBACK') return result
    } catch (error) {
      this.#isEnded = true
      await this.#rollBack()
      // Of statements in progress together, one behind the one that failed may reach the end of the work first.
      throw sqlState(error) === TRANSACTION_ABORTED ? (this.#failure ?? error) : error
    }
    // The server has refused to commit because of the error of a statement, which it does not report again.
    throw this.#failure ?? new Error('A statement of the transaction failed, so nothing was committed')
  }

  nest<T>(work: (tx: Database) => Promise<T>): Promise<T> {
    const depth = this.#depth + 1
    const name = `inner_${depth}`
    const commands = {
      begin: `savepoint ${name}`,
      commit: `release savepoint ${name}`,
      rollback: `rollback to savepoint ${name}`,
    }
    const result = this.#inner.then(() => {
      this.#assertOpen()
      return new Transaction(this.#db, this.#connection, commands, depth).run(work)
    })
    this.#inner = result.catch(() => {})
    return result
  }

  /** Sends a statement at once, with those that are sent in the same turn of the event loop. */
  async execute(statement: ArrayStatement): Promise<ArrayResult> {
    this.#assertOpen()
    try {
      return await this.#connection.query(statement)
    } catch (error) {
      this.#failure ??= error
      throw error
    }
  }

  #assertOpen(): void {
    if (this.#isEnded) throw new Error('The transaction has ended. Await all of its statements')
  }

  /** A connection that is still in the transaction must not be used again. */
  async #rollBack(): Promise<void> {
    try {
      await withinTime(ROLLBACK_MAX_MS, this.#connection.query(this.#commands.rollback))
    } catch {
      findSocket(this.#connection)?.destroy(new Error('Connection terminated: the rollback failed'))
    }
  }
}
