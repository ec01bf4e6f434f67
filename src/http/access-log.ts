import type { Middleware } from 'koa'
import { ANSWERED, type Logger } from '../platform/log.ts'
import type { AppRouter } from '../router.ts'
import {
  isHealthCheck,
  LIVENESS_PATH,
  OPENAPI_PATH,
  POSTMAN_PATH,
  MCP_PATH,
  READINESS_PATH,
  TRPC_ALIAS_PREFIX,
  TRPC_PREFIX,
} from './paths.ts'
import { toLogFields } from './log-fields.ts'
import { listOperations, listProcedures } from './rest.ts'

/**
 * Logs one line per request: method and path, never content. The query string is left out, as it may contain tokens.
 */
export function accessLog(log: Logger, maskPath: (path: string) => string): Middleware {
  return async function logRequest(ctx, next) {
    const startedAt = performance.now()
    await next()
    const logLine = () => {
      const durationMs = Math.round((performance.now() - startedAt) * 10) / 10
      const request = { ...toLogFields(ctx), method: ctx.method, path: maskPath(ctx.path) }
      // Orchestrators and load balancers ask all the time.
      const level = isHealthCheck(ctx.path) ? 'debug' : 'info'
      // Clients may leave before they have an answer, which may have cost as much.
      if (ctx.res.headersSent) log[level]({ ...request, status: ctx.res.statusCode, durationMs }, ANSWERED)
      else log[level]({ ...request, durationMs }, 'request broken off')
    }
    if (ctx.res.closed) logLine()
    else ctx.res.once('close', logLine)
  }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Creates the function that leaves out every part of a path that is neither an ID nor a word of the API. */
export function createPathMask(router: AppRouter): (path: string) => string {
  const words = listWords(router)
  const mask = (part: string) => (words.has(part) || UUID.test(part) ? part : '*')
  return (path) => path.slice(0, 500).replaceAll(/[^/,]+/g, mask)
}

function listWords(router: AppRouter): ReadonlySet<string> {
  const paths = listOperations(router).map(({ path }) => path)
  const fixed = [
    '/inbound/webhooks',
    '/inbound/whatsapp',
    TRPC_PREFIX,
    TRPC_ALIAS_PREFIX,
    LIVENESS_PATH,
    READINESS_PATH,
    OPENAPI_PATH,
    POSTMAN_PATH,
    MCP_PATH,
  ]
  return new Set([...[...paths, ...fixed].flatMap((path) => path.split('/')), ...listProcedures(router).keys()])
}
