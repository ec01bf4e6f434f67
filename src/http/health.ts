import type { Middleware } from 'koa'
import { isHealthCheck, READINESS_PATH } from './paths.ts'

/** Returns the reason why this process must not receive traffic, if there is one. */
export type ReadinessProblem = () => Promise<string | undefined>

/** Liveness: the process runs. Readiness: the database answers and is migrated, and the process is not shutting down. */
export function healthRoutes(findProblem: ReadinessProblem): Middleware {
  return async function answerHealth(ctx, next) {
    if (!isHealthCheck(ctx.path)) return next()
    const problem = ctx.path === READINESS_PATH ? await findProblem() : undefined
    ctx.status = problem ? 503 : 200
    ctx.set('Cache-Control', 'no-store')
    ctx.body = problem ? { status: 'unavailable', reason: problem } : { status: 'ok' }
  }
}
