import type { Context, Middleware } from 'koa'
import { ANSWERED, type Logger } from '../platform/log.ts'
import { observeRequest } from '../platform/metrics.ts'
import type { AppRouter } from '../router.ts'
import { toRoute } from './api-routes.ts'
import {
  isDocs,
  isHealthCheck,
  isUnder,
  LIVENESS_PATH,
  OPENAPI_PATH,
  POSTMAN_PATH,
  MCP_PATH,
  READINESS_PATH,
  TRPC_ALIAS_PREFIX,
  TRPC_PREFIX,
  WEBHOOK_PREFIX,
} from './paths.ts'
import { toLogFields } from './log-fields.ts'
import { listOperations, listProcedures } from './rest.ts'

/**
 * Logs one line per request: method and path, never content. The query string is left out, as it may contain tokens.
 */
export function accessLog(log: Logger, router: AppRouter, maskPath: (path: string) => string): Middleware {
  const operations = listRoutes(router)
  return async function logRequest(ctx, next) {
    const startedAt = performance.now()
    await next()
    const logLine = () => {
      recordRequest(ctx, operations, startedAt)
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

const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** Live subscriptions are left out: they last as long as their clients want. */
function recordRequest(ctx: Context, operations: ReadonlyMap<string, string>, startMs: number): void {
  const { res } = ctx
  if (String(res.getHeader('content-type')).startsWith('text/event-stream')) return
  const method = ctx.method === 'HEAD' ? 'GET' : ctx.method
  const route: string | undefined = ctx['_matchedRoute']
  const operation = ctx.state['operation'] ?? operations.get(`${method} ${route}`) ?? route ?? findPart(ctx.path)
  const statusClass = res.headersSent ? `${Math.floor(res.statusCode / 100)}xx` : 'aborted'
  const labels = { operation, method: METHODS.has(method) ? method : 'other', status_class: statusClass }
  observeRequest(labels, startMs)
}

/** Returns the part of the server that a path which is no operation belongs to. */
function findPart(path: string): string {
  if (isUnder(path, WEBHOOK_PREFIX)) return 'webhook'
  if (path === MCP_PATH) return 'mcp'
  if (isDocs(path) || path === OPENAPI_PATH || path === POSTMAN_PATH) return 'docs'
  return path === LIVENESS_PATH || path === READINESS_PATH ? 'health' : 'other'
}

/** Maps the routes of operations, with their methods, to the names of their procedures. */
function listRoutes(router: AppRouter): ReadonlyMap<string, string> {
  return new Map(
    listOperations(router).map(({ method, path, procedurePath }) => [`${method} ${toRoute(path)}`, procedurePath]),
  )
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
