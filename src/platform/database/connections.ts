import { Socket } from 'node:net'
import { withinTime } from '../concurrency/deadline.ts'
import { getField } from '../fields.ts'
import { SECOND } from '../time.ts'

/** Postgres cancels a statement after this time. */
export const STATEMENT_TIMEOUT_MS = 30 * SECOND
/**
 * Postgres ends a transaction without a statement for this time, and releases its locks: its process is frozen or has
 * lost the network. Only statements happen within a transaction, so a process that works sends the next one at once.
 */
export const IDLE_TRANSACTION_MAX_MS = 8 * SECOND
/** The server answers a statement before the client stops waiting for it, unless the network or the server is gone. */
const ANSWER_GRACE_MS = 5 * SECOND

/** Settings of every connection. The network may stop without closing connections, which nothing but a timer detects. */
export const CONNECTION = {
  connectionTimeoutMillis: 10 * SECOND,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10 * SECOND,
}

/**
 * Closes a connection on which a statement gets no answer: the statement and its transaction fail as an outage, and the
 * pool opens another connection. `query_timeout` of the driver would leave the statement on a connection that goes back
 * to the pool. An idle connection may be silent. With a timeout of 0, statements may take any time.
 */
export function closeWhenUnanswered(client: object, statementTimeoutMs = STATEMENT_TIMEOUT_MS): void {
  if (statementTimeoutMs === 0) return
  findSocket(client)?.setTimeout(statementTimeoutMs + ANSWER_GRACE_MS, () => {
    const isWaiting = getField(client, 'readyForQuery') === false
    if (isWaiting) findSocket(client)?.destroy(new Error('Connection terminated: the database does not answer'))
  })
}

const END_MAX_MS = SECOND

/** The sockets of open connections. A silent server does not end connections, so they are closed without it. */
export class OpenSockets {
  readonly #sockets = new Set<Socket>()

  add(client: object): void {
    const socket = findSocket(client)
    if (socket) this.#sockets.add(socket.once('close', () => this.#sockets.delete(socket)))
  }

  /** Closes connections that are still open after 1 s, or after `ended` fails. */
  async closeAfter(ended: Promise<unknown>): Promise<void> {
    await withinTime(END_MAX_MS, ended).catch(() => this.closeNow())
  }

  /** Closes all connections; statements in progress fail. */
  closeNow(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

/** Closes a connection now; the statement in progress fails as an outage. */
export function destroySocket(client: object): void {
  findSocket(client)?.destroy(new Error('Connection terminated: the server is not the primary'))
}

export function findSocket(client: object): Socket | undefined {
  const stream = getField(getField(client, 'connection'), 'stream')
  return stream instanceof Socket ? stream : undefined
}
