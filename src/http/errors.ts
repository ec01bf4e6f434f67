import type { Context, Middleware } from 'koa'
import { getField } from '../platform/fields.ts'
import type { Logger } from '../platform/log.ts'
import { findOutage, toErrorShape, toPublicError, toTrpcError, TransportError } from '../trpc/errors.ts'
import { toLogFields } from './log-fields.ts'
import { listBatchedProcedures } from './paths.ts'
import { transformer } from '../trpc/transformer.ts'

/** Converts every thrown error to an error body. A path that nothing answers is a 404 of the same form. */
export function errorBodies(log: Logger): Middleware {
  return async function answerErrors(ctx, next) {
    try {
      await next()
      if (ctx.respond !== false && ctx.status === 404 && ctx.body == null) throw new TransportError('NOT_FOUND')
    } catch (error) {
      if (ctx.res.headersSent || ctx.respond === false || isBrokenOff(error)) {
        if (isBrokenOff(error)) logFailure(log, error, 'request broken off', toLogFields(ctx))
        ctx.res.destroy()
        return
      }
      answerError(ctx, error, log)
    }
  }
}

/** Below the tRPC prefix the body has the shape that tRPC clients read; they apply it to each call of a batch. */
function answerError(ctx: Context, thrown: unknown, log: Logger): void {
  const requestId: string = ctx.state['requestId']
  const error = toPublicError(thrown, requestId)
  if (error.key === 'INTERNAL_SERVER_ERROR') logFailure(log, thrown, 'request failed', toLogFields(ctx))
  const outage = findOutage(toTrpcError(thrown))
  if (outage) {
    const fields = { event: 'dependency_unavailable' as const, err: outage, ...toLogFields(ctx) }
    log.warn(fields, 'request failed for lack of a dependency')
  }
  ctx.set(error.headers)
  ctx.status = error.status
  ctx.type = 'application/json; charset=utf-8'
  const isTrpc = listBatchedProcedures(ctx.path) !== undefined
  ctx.body = JSON.stringify(isTrpc ? { error: transformer.output.serialize(toErrorShape(error)) } : error.body)
}

/** Clients break off requests and answers at any time, which is no error of ours. */
export function logFailure(log: Logger, error: unknown, message: string, about: object = {}): void {
  const fields = { event: 'request_failed' as const, err: error, ...about }
  if (isBrokenOff(error)) log.debug(fields, message)
  else log.error(fields, message)
}

function isBrokenOff(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = getField(error, 'code')
  return (
    (code === 'ECONNRESET' && error.message === 'aborted') ||
    code === 'ERR_STREAM_PREMATURE_CLOSE' ||
    code === 'EPIPE' ||
    (typeof code === 'string' && code.startsWith('HPE_'))
  )
}
