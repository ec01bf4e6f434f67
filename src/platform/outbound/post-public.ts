import type { Agent, Dispatcher } from 'undici'
import { startDeadline } from '../concurrency/deadline.ts'
import { SECOND } from '../time.ts'
import { checkUrl } from './check-url.ts'
import { toOutboundError } from './fetch-public.ts'
import { OutboundError } from './outbound-error.ts'
import { createPublicAgent } from './public-agent.ts'

/** A receiver that has answered does not have to end its body, and none of it is kept. */
const BODY_BYTES_MAX = 64 * 1024
const BODY_MAX_MS = SECOND

/** `retryAfter` is the header as it came. */
export type PublicAnswer = { status: number; retryAfter: string | undefined }

type PosterOptions = {
  url: string
  /** The limit of the lookup, the connection and the answer without its body. */
  timeoutMs: number
  /** True if loopback addresses may be called, on any port. */
  allowsLoopback: boolean
}

type Post = { headers: Record<string, string>; body: string; timeoutMs: number }

/**
 * Posts to a URL that a customer chose, over connections that are kept until it is closed: each was made under the rules
 * for addresses. Redirects are answers, and the bodies of answers are discarded. A request
 * that got no answer, as its connection was closed, is repeated once after others were answered: it may arrive twice.
 */
export class PublicPoster {
  readonly url: string
  readonly #options: PosterOptions
  readonly #signal: AbortSignal | undefined
  readonly #agent: Agent
  readonly #exchanges = new Set<Exchange>()
  readonly #cancel = () => {
    for (const exchange of this.#exchanges) exchange.end('canceled')
  }
  #target: { origin: string; path: string } | undefined
  /** True if a connection may have been kept. */
  #hasKept = false

  /** Posts are canceled when the signal aborts. */
  constructor(options: PosterOptions, signal?: AbortSignal) {
    this.url = options.url
    this.#options = options
    this.#signal = signal
    this.#agent = createPublicAgent({ ...options, connectTimeoutMs: options.timeoutMs })
    signal?.addEventListener('abort', this.#cancel, { once: true })
  }

  /** @throws OutboundError */
  async post(headers: Record<string, string>, body: string): Promise<PublicAnswer> {
    const startedMs = performance.now()
    const hasKept = this.#hasKept
    try {
      return await this.#exchange({ headers, body, timeoutMs: this.#options.timeoutMs })
    } catch (error) {
      // Receivers may close a connection that is kept at any time, also when a request is on its way.
      const leftMs = this.#options.timeoutMs - (performance.now() - startedMs)
      const isUnreachable = error instanceof OutboundError && error.code === 'unreachable'
      if (!hasKept || !isUnreachable || leftMs <= 0) throw error
      this.#hasKept = false
      return await this.#exchange({ headers, body, timeoutMs: leftMs })
    }
  }

  #exchange({ headers, body, timeoutMs }: Post): Promise<PublicAnswer> {
    const { origin, path } = (this.#target ??= this.#checkTarget())
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(timeoutMs, (result) => {
        this.#exchanges.delete(exchange)
        if (result instanceof OutboundError) return reject(result)
        this.#hasKept = true
        resolve(result)
      })
      this.#exchanges.add(exchange)
      if (this.#signal?.aborted) return exchange.end('canceled')
      const sent = { 'accept-encoding': 'identity', ...headers }
      this.#agent.dispatch({ origin, path, method: 'POST', headers: sent, body }, exchange)
    })
  }

  async close(): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#cancel)
    await this.#agent.destroy()
  }

  #checkTarget(): { origin: string; path: string } {
    const { origin, pathname, search } = checkUrl(this.url, this.#options)
    return { origin, path: `${pathname}${search}` }
  }
}

/**
 * A request and its answer. It reads a short body to its end, after which the connection serves the next request, and closes
 * the connection of any other one.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #done: (result: PublicAnswer | OutboundError) => void
  #controller: Dispatcher.DispatchController | undefined
  #answer: PublicAnswer | undefined
  #bodyBytes = 0
  #isEnded = false
  #stopDeadline: () => void

  constructor(timeoutMs: number, done: (result: PublicAnswer | OutboundError) => void) {
    this.#done = done
    this.#stopDeadline = startDeadline(timeoutMs, () => this.end('late'))
  }

  /** Closes the connection. What has a status is answered, although its body is not complete. */
  end(reason: 'late' | 'canceled' | 'long'): void {
    if (this.#isEnded) return
    const error = new Error(`The request was ended as it was ${reason}`)
    this.#settle(() => toOutboundError(error, reason === 'late', reason === 'canceled'))
    this.#controller?.abort(error)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isEnded) controller.abort(new Error('The request was ended before it had a connection'))
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // Lower ones announce an answer.
    if (status < 200) return
    const retryAfter = headers['retry-after']
    this.#answer = { status, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined }
    this.#stopDeadline()
    this.#stopDeadline = startDeadline(BODY_MAX_MS, () => this.end('late'))
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bodyBytes += chunk.length
    if (this.#bodyBytes > BODY_BYTES_MAX) this.end('long')
  }

  onResponseEnd(): void {
    this.#settle(() => toOutboundError(undefined, false, false))
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#settle(() => toOutboundError(error, false, false))
  }

  #settle(toError: () => OutboundError): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#stopDeadline()
    this.#done(this.#answer ?? toError())
  }
}
