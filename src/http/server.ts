import { createServer, type Server } from 'node:http'
import Koa from 'koa'
import { newId } from '../platform/ids.ts'
import type { RateLimits } from '../platform/rate-limit/rate-limits.ts'
import type { Logger } from '../platform/log.ts'
import type { AppRouter } from '../router.ts'
import type { RequestContext } from '../trpc/context.ts'
import { accessLog } from './access-log.ts'
import { canonicalPath } from './canonical-path.ts'
import { errorBodies } from './errors.ts'
import { healthRoutes, type Health } from './health.ts'
import { type HandleWebhookCall, workflowWebhookRoutes } from './workflow-webhooks.ts'
import { HttpError } from './http-error.ts'
import { providerWebhookRoutes, type ProviderWebhookHandlers } from './provider-webhooks.ts'
import { rateLimit, costTable } from './rate-limits.ts'
import { trpcEndpoint } from './trpc-endpoint.ts'
import { openapiRoute } from './openapi/openapi-route.ts'
import { allowOrigins, rejectCrossOrigin } from './origin.ts'
import { openContexts, type Identify } from './request-context.ts'
import { requestId } from './request-id.ts'
import { restRoutes } from './rest.ts'

export type HttpDependencies = {
  router: AppRouter
  log: Logger
  limits: RateLimits
  health: Health
  inbound: ProviderWebhookHandlers
  hooks: HandleWebhookCall
  appOrigins: ReadonlySet<string>
  /** The address a request came from, behind the proxies that are trusted. */
  addressOf: (peer: string, forwardedFor: string | undefined) => string
  identify: Identify
  scopes: Pick<RequestContext, 'system' | 'auth' | 'openScope'>
}

/** The Koa shell: the middleware in the order a request meets it. */
export function createHttpServer(parts: HttpDependencies): Server {
  const { router, log } = parts
  const contexts = openContexts(parts)
  const rest = restRoutes(router, contexts.of)
  const koa = new Koa()
  koa.use(requestId())
  koa.use(accessLog(log))
  koa.use(errorBodies(log))
  koa.use(canonicalPath())
  koa.use(healthRoutes(parts.health))
  koa.use(workflowWebhookRoutes(parts.hooks))
  koa.use(providerWebhookRoutes(parts.inbound))
  koa.use(allowOrigins(parts.appOrigins))
  koa.use(openapiRoute(router))
  koa.use(contexts.readAddress)
  koa.use(rateLimit(parts.limits, costTable(router)))
  koa.use(rejectCrossOrigin(parts.appOrigins))
  koa.use(trpcEndpoint(router, contexts.openNative))
  koa.use(refuseWrongMethod(rest))
  koa.use(contexts.open)
  koa.use(rest.routes())
  koa.on('error', (error: Error) => log.error({ err: error }, 'response failed'))
  return listenFor(koa, log)
}

function refuseWrongMethod(rest: ReturnType<typeof restRoutes>): Koa.Middleware {
  return async function checkMethod(ctx, next) {
    const { path, route } = rest.match(ctx.path, ctx.method)
    if (path.length > 0 && !route) {
      const allow = [...new Set(path.flatMap(({ methods }) => methods))].join(', ')
      throw new HttpError(405, 'method_not_allowed', `This path takes ${allow}`, { Allow: allow })
    }
    await next()
  }
}

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000

/** Node answers what its parser refuses before Koa sees it; here it gets our form. */
function listenFor(koa: Koa, log: Logger): Server {
  const server = createServer(
    { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
    koa.callback(),
  )
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    log.debug({ code: error.code }, 'connection refused by the parser')
    if (!socket.writable || socket.destroyed) return
    const [line, code, text] =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? ['431 Request Header Fields Too Large', 'headers_too_large', 'The request headers are too large']
        : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? ['408 Request Timeout', 'request_timeout', 'The request did not arrive in time']
          : ['400 Bad Request', 'bad_request', 'This is not an HTTP request']
    const body = JSON.stringify({ error: text, code })
    const head = [
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${body.length}`,
      'Connection: close',
      `X-Request-Id: ${newId()}`,
    ]
    socket.end(`HTTP/1.1 ${line}\r\n${head.join('\r\n')}\r\n\r\n${body}`)
  })
  return server
}
