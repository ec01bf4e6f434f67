import type { Middleware } from 'koa'

/** `problem` says why this process must not get traffic now, or nothing. */
export type Health = { problem(): Promise<string | undefined> }

/** `/healthz`: the process is alive. `/readyz`: the database answers, is migrated, and we are not going down. */
export function healthRoutes(health: Health): Middleware {
  return async function answerHealth(ctx, next) {
    if (ctx.path !== '/healthz' && ctx.path !== '/readyz') return next()
    const problem = ctx.path === '/readyz' ? await health.problem() : undefined
    ctx.status = problem ? 503 : 200
    ctx.set('Cache-Control', 'no-store')
    ctx.body = problem ? { status: 'unavailable', reason: problem } : { status: 'ok' }
  }
}
