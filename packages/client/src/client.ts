import {
  createTRPCClient,
  httpBatchLink,
  httpLink,
  httpSubscriptionLink,
  type Operation,
  splitLink,
  type TRPCClient,
  TRPCClientError,
  type TRPCLink,
} from '@trpc/client'
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'
import superjson from 'superjson'
import { limitTime } from './limit-time.ts'
import { type ParleyOptions, read, readHeaders, toBase, toFetch } from './options.ts'
import type { AppRouter, EventOf, WorkflowDefinition } from './server.ts'

export type ParleyClient = TRPCClient<AppRouter>

/** The input of each call: `RouterInputs['contacts']['create']`. */
export type RouterInputs = inferRouterInputs<AppRouter>

/** The answer to each call: `RouterOutputs['contacts']['list']`. */
export type RouterOutputs = inferRouterOutputs<AppRouter>

/** An event of `events.follow`. `switch (event.type)` narrows its `data`. A later version may have further types. */
export type ParleyEvent = EventOf

/** An error of a call. `data` has its status, code and the path of its explanation; null if there was no response. */
export type ParleyError = TRPCClientError<AppRouter>

export function isParleyError(error: unknown): error is ParleyError {
  return error instanceof TRPCClientError
}

/** Returns the definition unchanged. The type checker finds mistakes in it, and editors complete its fields. */
export function defineWorkflow(definition: WorkflowDefinition): WorkflowDefinition {
  return definition
}

/** The part of an EventSource that subscriptions use. */
type EventSourceClass = NonNullable<Parameters<typeof httpSubscriptionLink>[0]['EventSource']>

export type ParleyClientOptions = ParleyOptions & {
  /** Required by subscriptions outside of a browser: one that can send headers, such as that of the package `eventsource`. */
  EventSource?: EventSourceClass
  /**
   * The longest time for a call, 30 seconds by default; not for subscriptions. One call may have another as the `timeoutMs`
   * of its `context`: `parley.runs.list.query({}, { context: { timeoutMs: 5_000 } })`.
   */
  timeoutMs?: number
}

const BATCH_MAX = 10
const TIMEOUT_MS = 30_000

/** Inputs are sent as trees: an object that an input holds twice is sent twice. */
const transformer = {
  serialize(value: unknown): { json: unknown; meta?: object } {
    const { json, meta } = superjson.serialize(value)
    return meta?.values ? { json, meta: { values: meta.values, v: meta.v } } : { json }
  },
  deserialize: superjson.deserialize,
}

/**
 * Creates a typed client of all procedures. Concurrent calls are sent as one batch; subscriptions resume by themselves. A
 * call with an `idempotencyKey` in its `context` is carried out once, however often it is repeated:
 * `parley.tags.create.mutate({ name }, { context: { idempotencyKey } })`.
 */
export function createParleyClient(options: ParleyClientOptions): ParleyClient {
  const url = `${toBase(options)}/trpc`
  const link = { url, transformer, headers: () => readHeaders(options), fetch: toFetch(options) }
  const toHeaders = async ({ op }: { op: Operation }) => {
    const key = readKey(op)
    return { ...(await readHeaders(options)), ...(key === undefined ? {} : { 'idempotency-key': key }) }
  }
  return createTRPCClient<AppRouter>({
    links: [
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: subscriptionLink(options, url),
        false: [
          limitTime(options.timeoutMs ?? TIMEOUT_MS),
          splitLink({
            // Calls that set the session cookie are not batched, and a key is that of one call.
            condition: (operation) => operation.path.startsWith('auth.') || readKey(operation) !== undefined,
            true: httpLink({ ...link, headers: toHeaders }),
            false: httpBatchLink({ ...link, maxItems: BATCH_MAX }),
          }),
        ],
      }),
    ],
  })
}

/** A call may have an `Idempotency-Key` as the `idempotencyKey` of its `context`. */
function readKey({ context }: Operation): string | undefined {
  const key = context['idempotencyKey']
  return typeof key === 'string' ? key : undefined
}

function subscriptionLink(options: ParleyClientOptions, url: string): TRPCLink<AppRouter> {
  const { EventSource } = options
  const call = toFetch(options)
  const link = httpSubscriptionLink<AppRouter, EventSourceClass>({
    url,
    transformer,
    // An EventSource of a browser sends no custom headers, so the workspace is sent with the connection.
    connectionParams: async () => {
      const tenantId = await read(options.tenantId)
      return tenantId === undefined ? null : { tenantId }
    },
    ...(EventSource === undefined ? {} : { EventSource }),
    eventSourceOptions: {
      withCredentials: true,
      fetch: async (input: string, init: { headers: Record<string, string> }) =>
        call(input, { ...init, headers: { ...init.headers, ...(await readHeaders(options)) } }),
    },
  })
  return (runtime) => {
    const subscribe = link(runtime)
    return (operation) => {
      // The link would report only that its EventSource is no constructor, as an error without a text.
      if (EventSource === undefined && !('EventSource' in globalThis)) throw new Error(NO_EVENT_SOURCE)
      return subscribe(operation)
    }
  }
}

const NO_EVENT_SOURCE =
  'Subscriptions need an EventSource, which this environment does not have. Pass one that can send headers to createParleyClient as the option `EventSource`, such as that of the package `eventsource`'
