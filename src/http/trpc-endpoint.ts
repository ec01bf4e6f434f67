import { once } from 'node:events'
import { nodeHTTPRequestHandler } from '@trpc/server/adapters/node-http'
import type { TRPCError } from '@trpc/server'
import type { Context, Middleware } from 'koa'
import type { AppRouter } from '../router.ts'
import { assertBoundedText } from '../platform/bounded-json.ts'
import { clientNetwork } from '../platform/client-address.ts'
import { InvalidError, UnauthorizedError } from '../platform/errors.ts'
import { callerId } from '../trpc/caller.ts'
import type { RequestContext } from '../trpc/context.ts'
import { mergeErrorHeaders, toPublicError } from '../trpc/errors.ts'
import { listBatchedProcedures } from './paths.ts'
import { BATCH_MAX, type ChargeSession } from './rate-limits.ts'
import type { TrpcCall } from './request-context.ts'
import { listProcedures } from './rest.ts'
import { readTenantId, subscriptionEndpoint } from './subscriptions/subscription-endpoint.ts'
import { takeSubscription } from './subscriptions/subscription-slots.ts'
import { TrpcQueries } from './trpc-queries.ts'
import type { Admission } from './load/admission.ts'
import { assertJson, AUTH_BODY_BYTES_MAX, BODY_BYTES_MAX, readBytes } from './load/read-body.ts'

type Dependencies = {
  openContext: (ctx: Context, call: TrpcCall) => Promise<RequestContext>
  chargeSession: ChargeSession
  admission: Admission
}

/** Serves the procedures to tRPC clients: batches, superjson, subscriptions as server-sent events. */
export function trpcEndpoint(router: AppRouter, { openContext, chargeSession, admission }: Dependencies): Middleware {
  const queries = new TrpcQueries(router)
  const open = async (ctx: Context, call: TrpcCall): Promise<RequestContext> => {
    const context = await openContext(ctx, call)
    await chargeSession(ctx, context.caller)
    return context
  }
  const streamSubscription = subscriptionEndpoint(router, (ctx, tenantId) =>
    withStatus(ctx, async () => {
      const context = await open(ctx, { tenantId, isBatch: false })
      const caller = context.caller ?? context.key
      if (caller) takeSlot(ctx, admission, callerId(caller))
      return context
    }),
  )
  const procedures = listProcedures(router)
  const answer = async (ctx: Context, names: string[]) => {
    if (names.length > BATCH_MAX) throw new InvalidError(`A batch may have at most ${BATCH_MAX} calls`)
    const [name = ''] = names
    ctx.state['operation'] = names.length === 1 && procedures.has(name) ? name : 'batch'
    assertSafeCall(ctx, names)
    const found = wantsStream(ctx) ? undefined : queries.parse(ctx, names, BATCH_MAX)
    const isBatch = names.length > 1
    if (found) return queries.answer(ctx, found, await open(ctx, { tenantId: null, isBatch }))
    if (await streamSubscription(ctx, names)) return
    const tenantId = readTenantId(new URLSearchParams(ctx.querystring))
    const context = await open(ctx, { tenantId, isBatch })
    if (ctx.method === 'POST') {
      const caller = context.caller ?? context.key
      // Who has no access sends small bodies only, or none if no procedure of the call is for him.
      if (!caller && names.every((name) => procedures.has(name) && !isAuth(name))) throw new UnauthorizedError()
      await readBody(ctx, caller && !names.some(isAuth) ? BODY_BYTES_MAX : AUTH_BODY_BYTES_MAX)
    }
    // Koa presets 404, which tRPC would keep; tRPC writes the answer to the socket without Koa.
    ctx.respond = false
    ctx.res.statusCode = 200
    const handled = nodeHTTPRequestHandler({
      router,
      req: ctx.req,
      res: ctx.res,
      path: names.join(','),
      maxBatchSize: BATCH_MAX,
      responseMeta: ({ errors }) => ({ headers: answerHeaders(errors) }),
      createContext: () => Promise.resolve(context),
    })
    // tRPC's promise resolves on 'finish' only, so it would stay pending when the client disconnects.
    await Promise.race([handled, once(ctx.res, 'close')])
  }
  return function answerTrpc(ctx, next) {
    const names = listBatchedProcedures(ctx.path)
    return names ? answer(ctx, names) : next()
  }
}

function takeSlot(ctx: Context, admission: Admission, id: string): void {
  if (ctx.res.destroyed) return
  ctx.res.once('close', takeSubscription(admission, { callerId: id, network: clientNetwork(ctx.state['addressKey']) }))
}

/** tRPC sends the status of a stream before the errors in it, so the status of a limit is set here. */
async function withStatus<T>(ctx: Context, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    const { status, headers } = toPublicError(error, ctx.state['requestId'])
    ctx.res.statusCode = status
    ctx.set(headers)
    throw error
  }
}

/** tRPC replaces the Vary header; the CORS headers depend on the origin here too. A batch waits for its last call. */
function answerHeaders(errors: TRPCError[]): Headers {
  return new Headers({ vary: 'Origin', ...mergeErrorHeaders(errors.map((error) => toPublicError(error, ''))) })
}

/** Reads the body within the bounds of this server. tRPC, which has only a bound per body, takes it from the request. */
async function readBody(ctx: Context, bytesMax: number): Promise<void> {
  const bytes = await readBytes(ctx, bytesMax)
  assertBoundedText(bytes)
  Object.assign(ctx.req, { body: bytes.toString() })
}

function assertSafeCall(ctx: Context, names: string[]): void {
  // A form can be posted across sites without a preflight, and would satisfy an empty input.
  if (ctx.method === 'POST') assertJson(ctx)
  // A streamed answer sends its headers first, so a call that sets the session cookie would act and then fail.
  if (wantsStream(ctx) && names.some(isAuth)) {
    throw new InvalidError(
      'auth procedures set a cookie and cannot be streamed. Call them through httpBatchLink or httpLink',
    )
  }
  if (names.length > 1 && ctx.get('idempotency-key') !== '') {
    throw new InvalidError('Idempotency-Key applies to a single call. Send this call outside a batch')
  }
}

function isAuth(name: string): boolean {
  return name.startsWith('auth.')
}

/** tRPC reads both headers. */
function wantsStream(ctx: Context): boolean {
  return [ctx.get('trpc-accept'), ctx.get('accept')].some((accept) => accept.includes('application/jsonl'))
}
