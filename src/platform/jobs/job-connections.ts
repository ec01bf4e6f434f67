import pg from 'pg'
import { CONNECTION, closeWhenUnanswered, OpenSockets } from '../database/connections.ts'
import type { Logger } from '../log.ts'

type Options = { url: string; name: string; max: number; log: Logger; statementTimeoutMs?: number }

/** Connections of the job queue, which can be closed without waiting for their statements. */
export class JobConnections {
  readonly pool: pg.Pool
  readonly #sockets = new OpenSockets()

  constructor({ url, name, max, log, statementTimeoutMs }: Options) {
    this.pool = new pg.Pool({
      connectionString: url,
      max,
      application_name: name,
      ...(statementTimeoutMs === undefined ? {} : { statement_timeout: statementTimeoutMs }),
      ...CONNECTION,
    })
    this.pool.on('error', (error) => log.warn({ err: error }, 'job queue connection lost'))
    this.pool.on('connect', (client) => {
      client.on('error', () => undefined)
      closeWhenUnanswered(client, statementTimeoutMs)
      this.#sockets.add(client)
    })
  }

  /** Closes all connections now: statements in progress fail, and later ones are rejected. */
  close(): void {
    if (this.pool.ending) return
    // Resolves when the last connection is closed, which nobody waits for.
    void this.pool.end()
    this.#sockets.closeNow()
  }
}
