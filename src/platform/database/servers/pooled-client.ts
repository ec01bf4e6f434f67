import type pg from 'pg'
import { cancelStatement } from '../cancel-statement.ts'
import { ServerClient } from './server-client.ts'

/** Timeouts of a connection. A lock timeout of 0 is none. */
export type Timeouts = { statementTimeoutMs: number; lockTimeoutMs: number; idleTransactionTimeoutMs: number }

const BEGIN = /^begin\b[^;]*/i

/**
 * Creates a class of clients for a pooler that gives each transaction another session of the server, such as PgBouncer in
 * transaction mode. Nothing is kept in the session: there are no startup parameters and no named statements, transactions
 * begin with their timeouts, and a statement outside of one is canceled by the client.
 */
export function pooledClientClass(timeouts: Timeouts): typeof ServerClient {
  const { statementTimeoutMs, lockTimeoutMs, idleTransactionTimeoutMs } = timeouts
  const settings =
    `set local statement_timeout = ${statementTimeoutMs}; set local lock_timeout = ${lockTimeoutMs}; ` +
    `set local idle_in_transaction_session_timeout = ${idleTransactionTimeoutMs}`
  return class PooledClient extends ServerClient {
    constructor(config: pg.ClientConfig = {}) {
      super(config)
      const query: unknown = Reflect.get(this, 'query')
      if (typeof query !== 'function') throw new TypeError('the driver has no method query')
      const execute = (args: unknown[]): unknown => Reflect.apply(query, this, args)
      Reflect.set(this, 'query', (statement: unknown, ...rest: unknown[]) =>
        withTimer(this, statementTimeoutMs, execute, [adapt(statement, settings), ...rest]),
      )
    }
  }
}

/** Removes the name of a statement, and adds the settings to the beginning of a transaction. */
function adapt(statement: unknown, settings: string): unknown {
  if (typeof statement === 'string') return statement.replace(BEGIN, (begin) => `${begin}; ${settings}`)
  if (typeof statement !== 'object' || statement === null || 'submit' in statement) return statement
  const { name: _, ...unnamed } = { name: undefined, text: '', ...statement }
  return { ...unnamed, text: adapt(unnamed.text, settings) }
}

/** Executes a statement, with a callback as the last argument or as a promise, and cancels it after the time. */
function withTimer(client: object, timeoutMs: number, execute: (args: unknown[]) => unknown, args: unknown[]): unknown {
  const timer = setTimeout(() => cancelStatement(client), timeoutMs)
  const callback = args.at(-1)
  if (typeof callback === 'function') {
    const finish = (...results: unknown[]) => {
      clearTimeout(timer)
      Reflect.apply(callback, undefined, results)
    }
    return execute([...args.slice(0, -1), finish])
  }
  const result = execute(args)
  if (result instanceof Promise) return result.finally(() => clearTimeout(timer))
  clearTimeout(timer)
  return result
}
