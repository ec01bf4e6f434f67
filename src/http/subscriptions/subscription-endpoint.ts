import { parseConnectionParamsFromString } from '@trpc/server/http'
import type { Context } from 'koa'
import { parseJson } from '../../platform/parse-json.ts'
import { SECOND } from '../../platform/time.ts'
import type { AppRouter } from '../../router.ts'
import type { RequestContext } from '../../trpc/context.ts'
import { toErrorShape, toPublicError, TransportError } from '../../trpc/errors.ts'
import { transformer } from '../../trpc/transformer.ts'
import { EventStreams, STREAM_HEADERS, type StreamFormat } from './event-streams.ts'
import { listProcedures, type Procedure } from '../rest.ts'

const serialize = (value: unknown) => JSON.stringify(transformer.output.serialize(value))

/** The format of tRPC's clients. */
const FORMAT: StreamFormat = {
  opening: `event: connected\ndata: ${JSON.stringify({ reconnectAfterInactivityMs: 20 * SECOND })}\n\n`,
  ping: 'event: ping\ndata: \n\n',
  end: 'event: return\ndata: \n\n',
  toItem: (id, value) => `data: ${serialize(value)}\nid: ${id}\n\n`,
  toError: (error) => `event: serialized-error\ndata: ${serialize(error)}\n\n`,
}

type OpenContext = (ctx: Context, tenantId: string | null) => Promise<RequestContext>

/**
 * Serves subscriptions to tRPC clients. tRPC's own writer serializes each item for each client and passes it through four
 * streams, which costs ten times as much. Returns false for calls that are not a single subscription.
 */
export function subscriptionEndpoint(router: AppRouter, openContext: OpenContext) {
  const procedures = listProcedures(router)
  const streams = new EventStreams(FORMAT)
  return async (ctx: Context, [path, ...others]: string[]): Promise<boolean> => {
    const procedure = procedures.get(path ?? '')
    const isSingle = others.length === 0 && ctx.method === 'GET' && !new URLSearchParams(ctx.querystring).has('batch')
    if (path === undefined || procedure?._def.type !== 'subscription' || !isSingle) return false
    const { res } = ctx
    // Koa presets 404, and writes nothing itself.
    ctx.respond = false
    res.statusCode = 200
    const items = await openItems(ctx, { path, procedure, openContext }).catch(failWith)
    if (res.destroyed) return true
    res.writeHead(res.statusCode, STREAM_HEADERS)
    await streams.write(res, items, (error) => toErrorShape(toPublicError(error, ctx.state['requestId']), path))
    return true
  }
}

type Call = { path: string; procedure: Procedure; openContext: OpenContext }

async function openItems(ctx: Context, { path, procedure, openContext }: Call): Promise<AsyncIterable<unknown>> {
  const closed = new AbortController()
  ctx.res.once('close', () => closed.abort())
  const query = new URLSearchParams(ctx.querystring)
  const items = await procedure({
    path,
    type: 'subscription',
    ctx: await openContext(ctx, readTenantId(query)),
    getRawInput: async () => readInput(query, ctx.get('last-event-id')),
    input: undefined,
    signal: closed.signal,
    batchIndex: 0,
  })
  if (!isAsyncIterable(items)) throw new Error(`The subscription ${path} returned no items`)
  return items
}

/** An EventSource cannot send headers, so the workspace may be named in the query. */
export function readTenantId(query: URLSearchParams): string | null {
  const params = query.get('connectionParams')
  return (params === null ? undefined : parseConnectionParamsFromString(params)?.['tenantId']) ?? null
}

/** Adds the position from which the client resumes, which it sends as a header or beside the input. */
function readInput(query: URLSearchParams, header: string): unknown {
  const json: unknown = parseJson(query.get('input') || '{"json":{}}')
  if (json === undefined) throw new TransportError('PARSE_ERROR')
  const input = transformer.input.deserialize(json)
  const lastEventId = header || query.get('lastEventId') || query.get('Last-Event-Id')
  return lastEventId && typeof input === 'object' ? { ...input, lastEventId } : input
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Items of a subscription that could not be opened: its client reads the error from the stream. */
function failWith(error: unknown): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) }
}
