import type { Context, Middleware } from 'koa'
import { clientNetwork } from '../../platform/client-address.ts'
import { getField } from '../../platform/fields.ts'
import type { AppRouter } from '../../router.ts'
import { callerId } from '../../trpc/caller.ts'
import type { RequestContext } from '../../trpc/context.ts'
import { toPublicError } from '../../trpc/errors.ts'
import type { Admission } from '../load/admission.ts'
import { listProcedures } from '../rest.ts'
import { EventStreams, STREAM_HEADERS, type StreamFormat } from './event-streams.ts'
import { isAsyncIterable } from './subscription-endpoint.ts'
import { takeSubscription } from './subscription-slots.ts'

const PROCEDURE = 'events.follow'

/**
 * The format of any client of server-sent events: the type of each event is its name, `ready` or `gap` comes first. The
 * last one is not called `error`, as an EventSource gives that name to its own trouble with the connection.
 */
const FORMAT: StreamFormat = {
  opening: 'retry: 1000\n\n',
  ping: ': ping\n\n',
  end: '',
  toItem(id, value) {
    const event = getField(value, 'event')
    const type = getField(event, 'type') ?? getField(value, 'type')
    return `event: ${String(type)}\nid: ${id}\ndata: ${JSON.stringify(event ?? {})}\n\n`
  },
  toError: (error) => `event: end\ndata: ${JSON.stringify(error)}\n\n`,
}

type OpenContext = (ctx: Context, tenantId: string | null) => Promise<RequestContext>

/** Streams the events of a workspace over REST: the procedure is that of tRPC clients, with its checks. */
export function eventsRoute(
  router: AppRouter,
  { openContext, admission }: { openContext: OpenContext; admission: Admission },
): Middleware {
  const procedure = listProcedures(router).get(PROCEDURE)
  if (!procedure) throw new TypeError(`There is no procedure ${PROCEDURE}`)
  const streams = new EventStreams(FORMAT)
  return async function streamEvents(ctx) {
    const { res } = ctx
    const query = new URLSearchParams(ctx.querystring)
    const context = await openContext(ctx, query.get('tenantId'))
    // Who has gone meanwhile would never free a slot.
    if (res.destroyed) return
    const caller = context.caller ?? context.key
    const closed = new AbortController()
    res.once('close', () => closed.abort())
    if (caller && ctx.method !== 'HEAD') {
      const network = clientNetwork(context.client.addressKey)
      res.once('close', takeSubscription(admission, { callerId: callerId(caller), network }))
    }
    const items = await procedure({
      path: PROCEDURE,
      type: 'subscription',
      ctx: context,
      getRawInput: async () => readInput(query, ctx.get('last-event-id')),
      input: undefined,
      signal: closed.signal,
      batchIndex: 0,
    })
    if (!isAsyncIterable(items)) throw new Error(`The subscription ${PROCEDURE} returned no items`)
    if (res.destroyed) return
    if (ctx.method === 'HEAD') {
      ctx.body = ''
      ctx.set(STREAM_HEADERS)
      return
    }
    // Koa presets 404, and writes nothing itself.
    ctx.respond = false
    res.writeHead(200, STREAM_HEADERS)
    await streams.write(res, items, (error) => toPublicError(error, ctx.state['requestId']).body)
  }
}

/**
 * The header that an EventSource sends when it connects again is `lastEventId`, as that of tRPC clients. It cannot send other
 * headers, so the workspace may be in the address as well.
 */
function readInput(query: URLSearchParams, lastEventId: string): Record<string, unknown> {
  const types = query.getAll('types')
  const others = [...query.keys()].filter((name) => !['types', 'tenantId'].includes(name))
  return {
    ...Object.fromEntries(others.map((name) => [name, query.get(name)])),
    ...(types.length > 0 ? { types } : {}),
    ...(lastEventId ? { lastEventId } : {}),
  }
}
