import { tracked, type TrackedEnvelope } from '@trpc/server'
import type { AppError } from '../platform/errors.ts'
import { SECOND } from '../platform/time.ts'
import type { Scope } from '../scope.ts'
import type { AuthDependencies, Caller } from './context.ts'
import { toTrpcError } from './errors.ts'

type Signal = InstanceType<typeof AbortController>['signal']

type Subscriber = { auth: AuthDependencies; caller: Caller; scope: Scope }

/** How long what was found of a subscriber's rights holds, where no revocation tells of a change. */
const TRUSTED_MS = 3 * SECOND
/** How often who is told nothing is looked at. */
const LOOK_EVERY_MS = 5 * SECOND

/**
 * A subscription: each item under the id from which a client that lost the connection goes on, and none for somebody who
 * would not be let in any more. `signal` ends it; where it begins is settled before this returns.
 */
export async function subscription<T>(
  subscriber: Subscriber,
  signal: Signal | undefined,
  follow: (signal: Signal) => Promise<AsyncIterable<[cursor: string, item: T]>>,
): Promise<AsyncGenerator<TrackedEnvelope<T>>> {
  const ended = new AbortController()
  // A signal that has aborted already tells nobody any more.
  if (signal?.aborted) ended.abort()
  signal?.addEventListener('abort', () => ended.abort(), { once: true })
  return tell(subscriber, ended, await follow(ended.signal))
}

async function* tell<T>(
  subscriber: Subscriber,
  ended: AbortController,
  items: AsyncIterable<[cursor: string, item: T]>,
): AsyncGenerator<TrackedEnvelope<T>> {
  const rights = new Rights(subscriber)
  const end = rights.watch(() => ended.abort())
  try {
    for await (const [cursor, item] of items) {
      await rights.refuse()
      yield tracked(cursor, item)
    }
    await rights.refuse()
  } finally {
    end()
  }
}

/** What a subscriber may, as it was found last. */
class Rights {
  readonly #subscriber: Subscriber
  #trustedUntil = 0
  #found: Promise<AppError | undefined> = Promise.resolve(undefined)

  constructor(subscriber: Subscriber) {
    this.#subscriber = subscriber
  }

  /** @throws TRPCError for somebody who is shut out */
  async refuse(): Promise<void> {
    const refusal = await this.#find()
    if (refusal) throw toTrpcError(refusal)
  }

  #find(): Promise<AppError | undefined> {
    const { auth, caller, scope } = this.#subscriber
    const nowMs = scope.now().getTime()
    if (nowMs >= this.#trustedUntil) {
      this.#trustedUntil = nowMs + TRUSTED_MS
      this.#found = auth.refusalOf(caller)
    }
    return this.#found
  }

  /** Calls `shutOut` soon after, also while nothing is told. Returns the function that ends it. */
  watch(shutOut: () => void): () => void {
    const { auth, caller } = this.#subscriber
    // Where the database does not answer, nothing can be told either: a later look will say.
    const look = () =>
      void this.#find().then(
        (refusal) => refusal && shutOut(),
        () => undefined,
      )
    const timer = setInterval(look, LOOK_EVERY_MS)
    const unsubscribe = auth.revocations.subscribe((userId) => {
      if (userId !== caller.user.id) return
      this.#trustedUntil = 0
      look()
    })
    return () => {
      clearInterval(timer)
      unsubscribe()
    }
  }
}
