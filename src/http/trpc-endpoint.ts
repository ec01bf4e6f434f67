import { once } from 'node:events'
import { nodeHTTPRequestHandler } from '@trpc/server/adapters/node-http'
import type { Context, Middleware } from 'koa'
import type { AppRouter } from '../router.ts'
import { InvalidError } from '../platform/errors.ts'
import type { RequestContext } from '../trpc/context.ts'
import { toTrpcError, TransportError } from '../trpc/errors.ts'
import { isUnder, TRPC_PREFIX } from './paths.ts'
import { BODY_BYTES_MAX } from './read-body.ts'

const BATCH_MAX = 10

/** Lists the procedures that a tRPC path names; undefined for any other path. */
export function listBatchedProcedures(path: string): string[] | undefined {
  return isUnder(path, TRPC_PREFIX) ? path.slice(TRPC_PREFIX.length + 1).split(',') : undefined
}

type OpenContext = (ctx: Context, connection: { tenantId: string | null }) => Promise<RequestContext>

/** Serves the procedures to tRPC clients: batches, superjson, subscriptions as server-sent events. */
export function trpcEndpoint(router: AppRouter, openContext: OpenContext): Middleware {
  return async function answerTrpc(ctx, next) {
    const names = listBatchedProcedures(ctx.path)
    if (!names) return next()
    assertSafeCall(ctx, names)
    // Koa presets 404, which tRPC would keep; tRPC writes the answer to the socket without Koa.
    ctx.respond = false
    ctx.res.statusCode = 200
    const handled = nodeHTTPRequestHandler({
      router,
      req: ctx.req,
      res: ctx.res,
      path: names.join(','),
      maxBodySize: BODY_BYTES_MAX,
      maxBatchSize: BATCH_MAX,
      // tRPC replaces the Vary header; the CORS headers depend on the origin here too.
      responseMeta: () => ({ headers: new Headers({ vary: 'Origin' }) }),
      createContext: ({ info }) =>
        openContext(ctx, { tenantId: info.connectionParams?.['tenantId'] ?? null }).catch((error: unknown) => {
          throw toTrpcError(error)
        }),
    })
    // tRPC's promise resolves on 'finish' only, so it would stay pending when the client disconnects.
    await Promise.race([handled, once(ctx.res, 'close')])
  }
}

function assertSafeCall(ctx: Context, names: string[]): void {
  // A form can be posted across sites without a preflight, and would satisfy an empty input.
  if (ctx.method === 'POST' && !ctx.is('application/json')) throw new TransportError('UNSUPPORTED_MEDIA_TYPE')
  // A streamed answer sends its headers first, so a call that sets the session cookie would act and then fail.
  if (wantsStream(ctx) && names.some((name) => name.startsWith('auth.'))) {
    throw new InvalidError(
      'auth procedures set a cookie and cannot be streamed. Call them through httpBatchLink or httpLink',
    )
  }
  if (names.length > 1 && ctx.get('idempotency-key') !== '') {
    throw new InvalidError('Idempotency-Key applies to a single call. Send this call outside a batch')
  }
}

/** tRPC reads both headers. */
function wantsStream(ctx: Context): boolean {
  return [ctx.get('trpc-accept'), ctx.get('accept')].some((accept) => accept.includes('application/jsonl'))
}
