import { tracked, type TrackedEnvelope } from '@trpc/server'
import type { AppError } from '../platform/errors.ts'
import { SECOND } from '../platform/time.ts'
import type { Scope } from '../scope.ts'
import type { AuthDependencies, Caller } from './context.ts'
import { toTrpcError } from './errors.ts'

type Signal = InstanceType<typeof AbortController>['signal']

type Subscriber = { auth: AuthDependencies; caller: Caller; scope: Scope }

/** Access that was checked is trusted this long, unless a revocation arrives. */
const TRUSTED_MS = 3 * SECOND
/** Interval of the access check while no items are sent. */
const CHECK_EVERY_MS = 5 * SECOND

/**
 * Streams items, each under the id from which a reconnecting client resumes, until `signal` aborts or the caller loses
 * access. The starting point is fixed before this returns.
 */
export async function subscription<T>(
  subscriber: Subscriber,
  signal: Signal | undefined,
  follow: (signal: Signal) => Promise<AsyncIterable<[cursor: string, item: T]>>,
): Promise<AsyncGenerator<TrackedEnvelope<T>>> {
  const ended = new AbortController()
  // An aborted signal fires no further event.
  if (signal?.aborted) ended.abort()
  signal?.addEventListener('abort', () => ended.abort(), { once: true })
  return stream(subscriber, ended, await follow(ended.signal))
}

async function* stream<T>(
  subscriber: Subscriber,
  ended: AbortController,
  items: AsyncIterable<[cursor: string, item: T]>,
): AsyncGenerator<TrackedEnvelope<T>> {
  const access = new AccessCheck(subscriber)
  const unwatch = access.watch(() => ended.abort())
  try {
    for await (const [cursor, item] of items) {
      await access.assertValid()
      yield tracked(cursor, item)
    }
    await access.assertValid()
  } finally {
    unwatch()
  }
}

/** The access of one subscriber, checked again after TRUSTED_MS and after each revocation. */
class AccessCheck {
  readonly #subscriber: Subscriber
  #trustedUntil = 0
  #latest: Promise<AppError | undefined> = Promise.resolve(undefined)

  constructor(subscriber: Subscriber) {
    this.#subscriber = subscriber
  }

  /** @throws TRPCError when access was revoked */
  async assertValid(): Promise<void> {
    const error = await this.#check()
    if (error) throw toTrpcError(error)
  }

  #check(): Promise<AppError | undefined> {
    const { auth, caller, scope } = this.#subscriber
    const nowMs = scope.now().getTime()
    if (nowMs >= this.#trustedUntil) {
      this.#trustedUntil = nowMs + TRUSTED_MS
      this.#latest = auth.checkAccess(caller)
    }
    return this.#latest
  }

  /** Calls `onRevoked` soon after access ends, also while no items are sent. Returns the function that stops it. */
  watch(onRevoked: () => void): () => void {
    const { auth, caller } = this.#subscriber
    // While the database does not answer no item can be sent either; a later check decides.
    const check = () =>
      void this.#check().then(
        (error) => error && onRevoked(),
        () => undefined,
      )
    const timer = setInterval(check, CHECK_EVERY_MS)
    const unsubscribe = auth.revocations.subscribe((userId) => {
      if (userId !== caller.user.id) return
      this.#trustedUntil = 0
      check()
    })
    return () => {
      clearInterval(timer)
      unsubscribe()
    }
  }
}
