import type { Context, Middleware } from 'koa'
import type { Span } from '../platform/tracing/span.ts'
import type { Tracing } from '../platform/tracing/tracing.ts'
import { isHealthCheck } from './paths.ts'

/**
 * Records one span per request, from its headers to the end of its answer. It continues the trace that the header
 * `traceparent` names. `maskPath` leaves out what the paths of spans must not contain.
 */
export function traceRequests(tracing: Tracing, maskPath: (path: string) => string): Middleware {
  return function traceRequest(ctx, next) {
    if (isHealthCheck(ctx.path)) return next()
    const span = tracing.accept(ctx.get('traceparent'), 'http.request')
    ctx.state['span'] = span
    ctx.res.once('close', () => {
      const { requestId, tenantId } = ctx.state
      const { statusCode, headersSent } = ctx.res
      span.set({
        'http.request.method': ctx.method,
        'url.path': maskPath(ctx.path),
        'http.response.status_code': headersSent ? statusCode : null,
        'parley.request_id': requestId,
        'parley.tenant_id': tenantId,
      })
      if (headersSent && statusCode >= 500) span.fail(String(statusCode))
      else span.end()
    })
    return next()
  }
}

/** Returns the span of a request; undefined if no traces are exported. */
export function findSpan({ state }: Context): Span | undefined {
  return state['span']
}
