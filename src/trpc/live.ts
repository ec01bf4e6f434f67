import { tracked, type TrackedEnvelope } from '@trpc/server'

/** Gives each item of a subscription the id from which a client that lost the connection goes on. */
export async function* live<T>(items: AsyncIterable<[cursor: string, item: T]>): AsyncGenerator<TrackedEnvelope<T>> {
  for await (const [cursor, item] of items) yield tracked(cursor, item)
}

/** For a subscription whose caller gave no way to end it. */
export const NEVER: InstanceType<typeof AbortController>['signal'] = new AbortController().signal
