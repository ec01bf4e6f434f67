import {
  createTRPCClient,
  httpBatchLink,
  httpLink,
  httpSubscriptionLink,
  splitLink,
  type TRPCClient,
  TRPCClientError,
  type TRPCLink,
} from '@trpc/client'
import superjson from 'superjson'
import type { AppRouter } from './router.ts'

export type { AppRouter }
export type { BodyCode as ErrorCode } from './error-codes/index.ts'
export {
  type Condition,
  defineWorkflow,
  type Step,
  type Trigger,
  type WorkflowDefinition,
} from './workflow-definition.ts'
export type ParleyClient = TRPCClient<AppRouter>

/** An error of a call. `data` has its status, code and the path of its explanation; null if there was no response. */
export type ParleyError = TRPCClientError<AppRouter>

export function isParleyError(error: unknown): error is ParleyError {
  return error instanceof TRPCClientError
}

/** The part of an EventSource that subscriptions use. */
type EventSourceClass = NonNullable<Parameters<typeof httpSubscriptionLink>[0]['EventSource']>

export type ParleyClientOptions = {
  /** The address of Parley, such as `https://api.example.com`. */
  url: string
  /** The workspace of all calls; sign-in returns the ids. Without it only auth can be called. */
  tenantId?: string
  /** Headers of every call. Outside of a browser, set the session cookie here. */
  headers?: Record<string, string>
  fetch?: typeof fetch
  /** Required by subscriptions outside of a browser: one that can send headers, such as that of the package `eventsource`. */
  EventSource?: EventSourceClass
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

/** Creates a typed client of all procedures. Concurrent calls are sent as one batch; subscriptions resume by themselves. */
export function createParleyClient(options: ParleyClientOptions): ParleyClient {
  const { tenantId, headers = {} } = options
  const url = `${options.url.replace(/\/$/, '')}/trpc`
  const call = options.fetch ?? fetch
  const link = {
    url,
    transformer,
    headers: { ...headers, ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }) },
    // The session is a cookie, which a browser sends to another origin only with this option.
    fetch: (input: URL | string, init?: object) => call(input, { ...init, credentials: 'include' }),
  }
  return createTRPCClient<AppRouter>({
    links: [
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: subscriptionLink(options, url),
        false: splitLink({
          // Calls that set the session cookie are not batched.
          condition: ({ path }) => path.startsWith('auth.'),
          true: httpLink(link),
          false: httpBatchLink({ ...link, maxItems: BATCH_MAX }),
        }),
      }),
    ],
  })
}

function subscriptionLink(
  { tenantId, headers = {}, EventSource }: ParleyClientOptions,
  url: string,
): TRPCLink<AppRouter> {
  const link = httpSubscriptionLink<AppRouter, EventSourceClass>({
    url,
    transformer,
    // An EventSource of a browser sends no custom headers, so the workspace is sent with the connection.
    ...(tenantId === undefined ? {} : { connectionParams: { tenantId } }),
    ...(EventSource === undefined ? {} : { EventSource }),
    eventSourceOptions: {
      withCredentials: true,
      fetch: (input: string, init: { headers: Record<string, string> }) =>
        fetch(input, { ...init, headers: { ...init.headers, ...headers } }),
    },
  })
  return (runtime) => {
    const subscribe = link(runtime)
    return (call) => {
      // The link would report only that its EventSource is no constructor, as an error without a text.
      if (EventSource === undefined && !('EventSource' in globalThis)) throw new Error(NO_EVENT_SOURCE)
      return subscribe(call)
    }
  }
}

const NO_EVENT_SOURCE =
  'Subscriptions need an EventSource, which this environment does not have. Pass one that can send headers to createParleyClient as the option `EventSource`, such as that of the package `eventsource`'
