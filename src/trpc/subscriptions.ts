import { tracked, type TrackedEnvelope } from '@trpc/server'
import type { AuthDependencies } from './context.ts'
import type { Caller } from './caller.ts'
import { toTrpcError } from './errors.ts'

type Signal = InstanceType<typeof AbortController>['signal']

/**
 * An item of which a client gets the ID only: the position from which it resumes has moved on, and nothing is to be
 * reported. It has the form of an item that it could get.
 */
export const POSITION_ONLY: { type: 'ready' } = { type: 'ready' }

type Subscriber = { auth: AuthDependencies; caller: Caller }

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
  { auth, caller }: Subscriber,
  ended: AbortController,
  items: AsyncIterable<[cursor: string, item: T]>,
): AsyncGenerator<TrackedEnvelope<T>> {
  const access = auth.accessChecks.open(caller, () => ended.abort())
  const assertValid = async () => {
    const error = await access.check()
    if (error) throw toTrpcError(error)
  }
  try {
    for await (const [cursor, item] of items) {
      await assertValid()
      yield tracked(cursor, item)
    }
    await assertValid()
  } finally {
    access.close()
  }
}
