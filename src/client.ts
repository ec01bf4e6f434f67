import {
  createTRPCClient,
  httpBatchLink,
  httpLink,
  httpSubscriptionLink,
  splitLink,
  type TRPCClient,
} from '@trpc/client'
import superjson from 'superjson'
import type { AppRouter } from './router.ts'

export type { AppRouter }
export type ParleyClient = TRPCClient<AppRouter>

export type ParleyClientOptions = {
  /** Where Parley listens, such as `https://api.example.com`. */
  url: string
  /** The workspace all calls act on; sign-in says which there are. Without it only auth can be called. */
  tenantId?: string
  /** Headers of every call. Outside a browser, this is where the session cookie goes. */
  headers?: Record<string, string>
  fetch?: typeof fetch
  /** Outside a browser: an EventSource that can send headers, such as that of the package `eventsource`. */
  EventSource?: unknown
}

const BATCH_MAX = 10

/** Inputs are sent as trees: an object that an input holds twice is sent twice. */
const transformer = {
  serialize(value: unknown): { json: unknown; meta?: object } {
    const { json, meta } = superjson.serialize(value)
    return meta?.values ? { json, meta: { values: meta.values, v: meta.v } } : { json }
  },
  deserialize: superjson.deserialize,
}

/** A typed client of every procedure. Calls of the same moment travel together; subscriptions resume by themselves. */
export function createParleyClient(options: ParleyClientOptions): ParleyClient {
  const { tenantId, headers = {} } = options
  const url = `${options.url.replace(/\/$/, '')}/api/trpc`
  const call = options.fetch ?? fetch
  const plain = {
    url,
    transformer,
    headers: { ...headers, ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }) },
    // The session is a cookie, which a browser sends to another origin only when asked to.
    fetch: (input: URL | string, init?: object) => call(input, { ...init, credentials: 'include' }),
  }
  return createTRPCClient<AppRouter>({
    links: [
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: subscriptions(options, url),
        false: splitLink({
          // What sets the session cookie goes alone.
          condition: ({ path }) => path.startsWith('auth.'),
          true: httpLink(plain),
          false: httpBatchLink({ ...plain, maxItems: BATCH_MAX }),
        }),
      }),
    ],
  })
}

function subscriptions({ tenantId, headers = {}, EventSource }: ParleyClientOptions, url: string) {
  return httpSubscriptionLink<AppRouter, never>({
    url,
    transformer,
    // A browser's EventSource sends no headers of ours, so the workspace travels with the connection.
    ...(tenantId === undefined ? {} : { connectionParams: { tenantId } }),
    ...(EventSource === undefined ? {} : { EventSource: EventSource as never }),
    eventSourceOptions: {
      withCredentials: true,
      fetch: (input: string, init: RequestInit) =>
        fetch(input, { ...init, headers: { ...(init.headers as Record<string, string>), ...headers } }),
    } as never,
  })
}
