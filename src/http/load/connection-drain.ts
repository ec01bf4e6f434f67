import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'

const CLOSE_IDLE_EVERY_MS = 20

/**
 * Ends the connections of a server that stops. From `begin` on, each answer is the last of its connection, so that clients
 * send further requests elsewhere. `close` accepts no more connections and ends those without a request in progress.
 */
export class ConnectionDrain {
  readonly #server: Server
  readonly #answers = new Set<ServerResponse>()
  #hasBegun = false

  constructor(server: Server) {
    this.#server = server
    // Before the handler, which may send the headers at once.
    server.prependListener('request', (_request, answer: ServerResponse) => this.#add(answer))
  }

  begin(): void {
    this.#hasBegun = true
    for (const answer of this.#answers) markLast(answer)
  }

  /** Waits at most `drainMs` for answers in progress. */
  async close(drainMs: number): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    const closeIdle = setInterval(() => this.#closeIdle(), CLOSE_IDLE_EVERY_MS)
    const deadline = setTimeout(() => this.#server.closeAllConnections(), drainMs)
    await closed
    clearInterval(closeIdle)
    clearTimeout(deadline)
  }

  /** Closes connections without a request, also those whose last answer began before the drain, and subscriptions. */
  #closeIdle(): void {
    this.#server.closeIdleConnections()
    for (const answer of this.#answers) endStream(answer)
  }

  #add(answer: ServerResponse): void {
    this.#answers.add(answer)
    answer.once('close', () => this.#answers.delete(answer))
    if (this.#hasBegun) markLast(answer)
  }
}

function markLast(answer: ServerResponse): void {
  if (!answer.headersSent) answer.setHeader('Connection', 'close')
}

/** Live subscriptions never end by themselves. Their clients connect again, and resume where they were. */
function endStream(answer: ServerResponse): void {
  const { socket } = answer
  const isStream = answer.headersSent && String(answer.getHeader('content-type')).startsWith('text/event-stream')
  if (isStream) socket?.end(() => socket.destroy())
}
