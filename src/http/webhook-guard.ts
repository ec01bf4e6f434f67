import type { Context } from 'koa'
import { LRUCache } from 'lru-cache'
import { ExpiringCache } from '../platform/concurrency/expiring-cache.ts'
import { LimitExceededError, NotFoundError, UnauthorizedError } from '../platform/errors.ts'
import { isUuid } from '../platform/ids.ts'
import type { RateLimits } from '../platform/rate-limit/rate-limits.ts'
import { SECOND } from '../platform/time.ts'

type WebhookCall<Answer extends { status: number }> = {
  id: string
  /** Identifies the webhook among those of all kinds. */
  key: string
  isKnown: () => Promise<boolean>
  unknownError: () => Error
  /** Reads the body and handles the call. */
  handle: () => Promise<Answer>
}

const ENTRIES_MAX = 10_000
const KNOWN_MS = 5 * SECOND

/**
 * Rejects webhook calls before their bodies are read: those to unknown addresses, and further ones of a client whose
 * calls were rejected too often. Rejections of unknown addresses count per client and limit only such calls; forged
 * calls to a webhook count per client and webhook. A provider that calls for many workspaces from one address is so
 * never limited in one of them because of another.
 */
export class WebhookGuard {
  readonly #limits: Pick<RateLimits, 'charge'>
  readonly #known = new ExpiringCache({ entriesMax: ENTRIES_MAX })
  readonly #limited = new LRUCache<string, true>({ max: ENTRIES_MAX })

  constructor(limits: Pick<RateLimits, 'charge'>) {
    this.#limits = limits
  }

  async run<Answer extends { status: number }>(ctx: Context, call: WebhookCall<Answer>): Promise<Answer> {
    const client: string = ctx.state['addressKey']
    const clientOfWebhook = `${client} ${call.id.toLowerCase()}`
    try {
      if (!isUuid(call.id) || !(await this.#known.get(call.key, KNOWN_MS, call.isKnown)))
        await this.#reject(client, call)
      this.#assertNotLimited(clientOfWebhook)
    } catch (error) {
      // The body is not read, so the connection cannot carry another request.
      ctx.set('Connection', 'close')
      throw error
    }
    try {
      const answer = await call.handle()
      if (answer.status === 403) await this.#charge(clientOfWebhook)
      return answer
    } catch (error) {
      const isRejected = error instanceof UnauthorizedError || error instanceof NotFoundError
      if (isRejected) await this.#charge(clientOfWebhook)
      throw error
    }
  }

  async #reject(client: string, { unknownError }: Pick<WebhookCall<never>, 'unknownError'>): Promise<never> {
    this.#assertNotLimited(client)
    await this.#charge(client)
    throw unknownError()
  }

  #assertNotLimited(client: string): void {
    if (!this.#limited.has(client)) return
    throw tooManyError(Math.max(1, Math.ceil(this.#limited.getRemainingTTL(client) / SECOND)))
  }

  /** Counts a rejected call in all processes; this one remembers who is over the limit. */
  async #charge(client: string): Promise<void> {
    const { allowed, state } = await this.#limits.charge(client, ['webhookRejected'])
    if (allowed) return
    this.#limited.set(client, true, { ttl: state.resetSeconds * SECOND })
    throw tooManyError(state.resetSeconds)
  }
}

function tooManyError(retryAfterSeconds: number): LimitExceededError {
  return new LimitExceededError(
    'rate_limited',
    'Too many webhook calls of this client were rejected, please try again later',
    retryAfterSeconds,
  )
}
