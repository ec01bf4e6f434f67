import type { Middleware } from 'koa'
import type { Logger } from '../platform/log.ts'

/** One line per request: what was asked by name, never by content. The query string stays out, it may hold tokens. */
export function accessLog(log: Logger): Middleware {
  return async function logRequest(ctx, next) {
    const started = performance.now()
    await next()
    const done = () => {
      const durationMs = Math.round((performance.now() - started) * 10) / 10
      const { method, path } = ctx
      log.info(
        { requestId: ctx.state['requestId'], method, path, status: ctx.res.statusCode, durationMs },
        'request answered',
      )
    }
    if (ctx.res.writableFinished) done()
    else ctx.res.once('close', done)
  }
}
