import { once } from 'node:events'
import { nodeHTTPRequestHandler } from '@trpc/server/adapters/node-http'
import type { Context, Middleware } from 'koa'
import superjson from 'superjson'
import type { AppRouter } from '../router.ts'
import { InvalidError } from '../platform/errors.ts'
import type { RequestContext } from '../trpc/context.ts'
import type { PublicError } from '../trpc/errors.ts'
import { HttpError } from './http-error.ts'
import { BODY_BYTES_MAX } from './read-body.ts'

const NATIVE_PREFIX = '/api/trpc'
const BATCH_MAX = 10

export function isTrpcPath(path: string): boolean {
  return path.startsWith(`${NATIVE_PREFIX}/`)
}

/** The procedures a native call names, or undefined for any other path. */
export function listBatchedProcedures(path: string): string[] | undefined {
  return isTrpcPath(path) ? path.slice(NATIVE_PREFIX.length + 1).split(',') : undefined
}

type OpenContext = (ctx: Context, connection: { tenantId: string | null }) => Promise<RequestContext>

/** The procedures as tRPC clients call them: batches, superjson, subscriptions as server-sent events. */
export function trpcEndpoint(router: AppRouter, openContext: OpenContext): Middleware {
  return async function answerNative(ctx, next) {
    const names = listBatchedProcedures(ctx.path)
    if (!names) return next()
    refuseWhatClientsNeverSend(ctx, names)
    // Koa presets 404, which tRPC would keep; and the answer is written to the socket behind Koa's back.
    ctx.respond = false
    ctx.res.statusCode = 200
    const handled = nodeHTTPRequestHandler({
      router,
      req: ctx.req,
      res: ctx.res,
      path: names.join(','),
      maxBodySize: BODY_BYTES_MAX,
      maxBatchSize: BATCH_MAX,
      // tRPC sets Vary anew; what CORS answers depends on the origin here too.
      responseMeta: () => ({ headers: new Headers({ vary: 'Origin' }) }),
      createContext: ({ info }) => openContext(ctx, { tenantId: info.connectionParams?.['tenantId'] ?? null }),
    })
    // tRPC's promise settles only on 'finish': a caller who hangs up would keep this one waiting for ever.
    await Promise.race([handled, once(ctx.res, 'close')])
  }
}

function refuseWhatClientsNeverSend(ctx: Context, names: string[]): void {
  // A form can be posted across sites without a preflight, and would satisfy an empty input.
  if (ctx.method === 'POST' && !ctx.is('application/json')) {
    throw new HttpError(415, 'unsupported_media_type', 'Send the request body as application/json')
  }
  // In a streamed answer the headers leave first, so a call that sets the session cookie would act and then fail.
  if (wantsStream(ctx) && names.some((name) => name.startsWith('auth.'))) {
    throw new InvalidError(
      'auth procedures set a cookie and cannot be streamed; call them through httpBatchLink or httpLink',
    )
  }
  if (names.length > 1 && ctx.get('idempotency-key') !== '') {
    throw new InvalidError('Idempotency-Key belongs to one call; send this call outside a batch')
  }
}

/** tRPC looks into both headers. */
function wantsStream(ctx: Context): boolean {
  return [ctx.get('trpc-accept'), ctx.get('accept')].some((accept) => accept.includes('application/jsonl'))
}

/** A refusal of the shell in the form tRPC clients understand; they apply it to each call of the batch. */
export function trpcErrorBody({ status, body }: PublicError): object {
  const data = { code: codeOf(status), httpStatus: status, ...body }
  return { error: superjson.serialize({ message: body.error, code: -32000 - status, data }) }
}

function codeOf(status: number): string {
  const codes: Record<number, string> = {
    400: 'BAD_REQUEST',
    401: 'UNAUTHORIZED',
    403: 'FORBIDDEN',
    404: 'NOT_FOUND',
    413: 'PAYLOAD_TOO_LARGE',
    415: 'UNSUPPORTED_MEDIA_TYPE',
    429: 'TOO_MANY_REQUESTS',
    503: 'SERVICE_UNAVAILABLE',
  }
  return codes[status] ?? 'INTERNAL_SERVER_ERROR'
}
