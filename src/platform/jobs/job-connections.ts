import pg from 'pg'
import { CONNECTION, closeWhenUnanswered, OpenSockets } from '../database/connections.ts'
import { ServerClient } from '../database/servers/server-client.ts'
import type { Logger } from '../log.ts'

type Options = { url: string; name: string; max: number; log: Logger; statementTimeoutMs?: number }

/**
 * Connections of the job queue, which can be closed without waiting for their statements. Promises of statements that are
 * in progress then, and of later ones, never settle: graphile-worker does not handle their rejections.
 */
export class JobConnections {
  readonly pool: pg.Pool
  readonly #sockets = new OpenSockets()
  #isClosed = false

  constructor({ url, name, max, log, statementTimeoutMs }: Options) {
    this.pool = new pg.Pool({
      connectionString: url,
      Client: ServerClient,
      max,
      application_name: name,
      ...(statementTimeoutMs === undefined ? {} : { statement_timeout: statementTimeoutMs }),
      ...CONNECTION,
    })
    this.pool.on('error', (error) => log.warn({ err: error }, 'job queue connection lost'))
    this.pool.on('connect', (client) => {
      closeWhenUnanswered(client, statementTimeoutMs)
      this.#sockets.add(client)
      this.#silenceWhenClosed(client, 'query')
    })
    this.#silenceWhenClosed(this.pool, 'connect')
  }

  /** Closes all connections now. Statements in progress and later ones never settle. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    // Resolves when the last connection is closed, which nobody waits for.
    void this.pool.end()
    this.#sockets.closeNow()
  }

  /** Replaces a method by one whose promises settle only until the connections are closed. */
  #silenceWhenClosed(target: object, method: 'query' | 'connect'): void {
    const original: unknown = Reflect.get(target, method)
    if (typeof original !== 'function') throw new TypeError(`the driver has no method ${method}`)
    Reflect.set(target, method, (...args: unknown[]): unknown => {
      const result: unknown = Reflect.apply(original, target, args)
      if (!(result instanceof Promise)) return result
      return new Promise((resolve, reject) => {
        result.then(
          (value: unknown) => this.#isClosed || resolve(value),
          (error: unknown) => this.#isClosed || reject(error),
        )
      })
    })
  }
}
