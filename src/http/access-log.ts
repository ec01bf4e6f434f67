import type { Middleware } from 'koa'
import type { Logger } from '../platform/log.ts'

/** Logs one line per request: method and path, never content. The query string is left out, as it may contain tokens. */
export function accessLog(log: Logger): Middleware {
  return async function logRequest(ctx, next) {
    const startedAt = performance.now()
    await next()
    const logLine = () => {
      const durationMs = Math.round((performance.now() - startedAt) * 10) / 10
      const { method, path } = ctx
      log.info(
        { requestId: ctx.state['requestId'], method, path, status: ctx.res.statusCode, durationMs },
        'request answered',
      )
    }
    if (ctx.res.writableFinished) logLine()
    else ctx.res.once('close', logLine)
  }
}
