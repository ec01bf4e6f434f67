import { createServer, type Server } from 'node:http'
import Koa from 'koa'
import { newId } from '../platform/ids.ts'
import type { RateLimits } from '../platform/rate-limit/rate-limits.ts'
import type { Logger } from '../platform/log.ts'
import type { AppRouter } from '../router.ts'
import type { RequestContext } from '../trpc/context.ts'
import { TransportError } from '../trpc/errors.ts'
import { accessLog } from './access-log.ts'
import { canonicalPath } from './canonical-path.ts'
import { errorBodies } from './errors.ts'
import { healthRoutes, type ReadinessProblem } from './health.ts'
import { rateLimit, costTable } from './rate-limits.ts'
import { trpcEndpoint } from './trpc-endpoint.ts'
import { openapiRoute } from './openapi/build-openapi.ts'
import { allowOrigins, rejectCrossOrigin } from './origin.ts'
import { createContexts, type Identify } from './request-context.ts'
import { requestId } from './request-id.ts'
import { restRoutes } from './rest.ts'
import {
  type HandleProviderWebhook,
  type HandleWorkflowWebhook,
  providerWebhookRoutes,
  workflowWebhookRoutes,
} from './webhooks.ts'

export type HttpDependencies = {
  router: AppRouter
  log: Logger
  limits: RateLimits
  findReadinessProblem: ReadinessProblem
  handleProviderWebhook: HandleProviderWebhook
  handleWorkflowWebhook: HandleWorkflowWebhook
  appOrigins: ReadonlySet<string>
  /** Finds the address that a request came from, behind the trusted proxies. */
  resolveAddress: (peer: string, forwardedFor: string | undefined) => string
  identify: Identify
  scopes: Pick<RequestContext, 'system' | 'auth' | 'openScope'>
}

/** Creates the Koa server. The middleware is listed in the order in which it runs. */
export function createHttpServer(dependencies: HttpDependencies): Server {
  const { router, log } = dependencies
  const contexts = createContexts(dependencies)
  const rest = restRoutes(router, contexts.get)
  const koa = new Koa()
  koa.use(requestId())
  koa.use(accessLog(log))
  koa.use(errorBodies(log))
  koa.use(canonicalPath())
  koa.use(healthRoutes(dependencies.findReadinessProblem))
  koa.use(workflowWebhookRoutes(dependencies.handleWorkflowWebhook))
  koa.use(providerWebhookRoutes(dependencies.handleProviderWebhook))
  koa.use(allowOrigins(dependencies.appOrigins))
  koa.use(openapiRoute(router))
  koa.use(contexts.readAddress)
  koa.use(rateLimit(dependencies.limits, costTable(router)))
  koa.use(rejectCrossOrigin(dependencies.appOrigins))
  koa.use(trpcEndpoint(router, contexts.openForTrpc))
  koa.use(checkMethod(rest))
  koa.use(contexts.open)
  koa.use(rest.routes())
  koa.on('error', (error: Error) => log.error({ err: error }, 'response failed'))
  return createNodeServer(koa, log)
}

function checkMethod(rest: ReturnType<typeof restRoutes>): Koa.Middleware {
  return async function checkRestMethod(ctx, next) {
    const { path, route } = rest.match(ctx.path, ctx.method)
    if (path.length > 0 && !route) {
      const allow = [...new Set(path.flatMap(({ methods }) => methods))].join(', ')
      throw new TransportError('METHOD_NOT_SUPPORTED', {
        message: `This path takes ${allow}`,
        headers: { Allow: allow },
      })
    }
    await next()
  }
}

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000

/** Gives the errors of Node's HTTP parser, which Koa never sees, the same form as all others. */
function createNodeServer(koa: Koa, log: Logger): Server {
  const server = createServer(
    { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
    koa.callback(),
  )
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    log.debug({ code: error.code }, 'request rejected by the HTTP parser')
    if (!socket.writable || socket.destroyed) return
    const [line, code, text] =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? ['431 Request Header Fields Too Large', 'headers_too_large', 'The request headers are too large']
        : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? ['408 Request Timeout', 'request_timeout', 'The request did not arrive in time']
          : ['400 Bad Request', 'bad_request', 'The request is not valid HTTP']
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
