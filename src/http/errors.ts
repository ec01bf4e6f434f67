import type { Context, Middleware } from 'koa'
import { NotFoundError } from '../platform/errors.ts'
import type { Logger } from '../platform/log.ts'
import { publicError, type PublicError } from '../trpc/errors.ts'
import { HttpError } from './http-error.ts'
import { isTrpcPath, trpcErrorBody } from './trpc-endpoint.ts'

/** Turns whatever was thrown into the error body. A path nobody answered is a 404 of the same form. */
export function errorBodies(log: Logger): Middleware {
  return async function answerErrors(ctx, next) {
    try {
      await next()
      if (ctx.respond !== false && ctx.status === 404 && ctx.body == null) throw new NotFoundError('Path')
    } catch (error) {
      if (ctx.res.headersSent || ctx.respond === false) {
        ctx.res.destroy()
        return
      }
      answerError(ctx, error, log)
    }
  }
}

function answerError(ctx: Context, thrown: unknown, log: Logger): void {
  // Thrown while a procedure read its input, it comes wrapped.
  const error = thrown instanceof Error && thrown.cause instanceof HttpError ? thrown.cause : thrown
  const requestId = ctx.state['requestId'] as string
  const refusal = describe(error, requestId)
  if (refusal.status === 500) log.error({ err: error, requestId }, 'request failed')
  if (refusal.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(refusal.retryAfterSeconds))
  if (error instanceof HttpError) ctx.set(error.headers)
  ctx.status = refusal.status
  ctx.type = 'application/json; charset=utf-8'
  ctx.body = JSON.stringify(isTrpcPath(ctx.path) ? trpcErrorBody(refusal) : refusal.body)
}

function describe(error: unknown, requestId: string): PublicError {
  if (error instanceof HttpError) return { status: error.status, body: { error: error.message, code: error.code } }
  return publicError(error, requestId)
}
