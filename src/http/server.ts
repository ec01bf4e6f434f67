import type { Server } from 'node:http'
import Koa from 'koa'
import type { RateLimits } from '../platform/rate-limit/rate-limits.ts'
import type { Logger } from '../platform/log.ts'
import type { Tracing } from '../platform/tracing/tracing.ts'
import type { AppRouter } from '../router.ts'
import { identifyApiKey, type IdentifyKey } from './api-key.ts'
import { ApiRoutes } from './api-routes.ts'
import { accessLog, createPathMask } from './access-log.ts'
import { Admission } from './load/admission.ts'
import { BodyBudget, boundBodies } from './load/body-budget.ts'
import { canonicalPath } from './security/canonical-path.ts'
import { errorBodies, logFailure } from './errors.ts'
import { healthRoutes, type ReadinessProblem } from './health.ts'
import { LoopLag, rejectWhileLate } from './load/loop-lag.ts'
import { createNodeServer } from './load/node-server.ts'
import { rateLimit, costTable, createChargeSession } from './rate-limits.ts'
import { indexPage, type ShownAccount } from './index-page.ts'
import { boundAnswers, UnsentAnswers } from './load/unsent-answers.ts'
import { trpcEndpoint } from './trpc-endpoint.ts'
import { mediaDownloads, type MediaFiles } from './media-routes.ts'
import { consoleSite } from './console-site.ts'
import { docsSite } from './docs/docs-site.ts'
import { openapiRoute, openApiSource } from './openapi/openapi-route.ts'
import { checkHost, type IsHostAllowed } from './security/check-host.ts'
import { type IsProxy, securityHeaders } from './security/security-headers.ts'
import { allowOrigins, rejectCrossOrigin } from './security/origin.ts'
import { createContexts, type Identify, type RequestScopes } from './request-context.ts'
import { addDownloads, type DownloadRoute } from './download-routes.ts'
import { API_PREFIX, EVENTS_STREAM_PATH, isUnder } from './paths.ts'
import { mcpEndpoint } from './mcp/mcp-endpoint.ts'
import { requestId } from './request-id.ts'
import { eventsRoute } from './subscriptions/events-route.ts'
import { addOperations } from './rest.ts'
import { traceRequests } from './trace-requests.ts'
import { addUploads, type UploadRoute } from './upload-routes.ts'
import { WebhookGuard } from './webhook-guard.ts'
import {
  providerWebhookRoutes,
  type ProviderWebhooks,
  workflowWebhookRoutes,
  type WorkflowWebhooks,
} from './webhook-routes.ts'

export type HttpDependencies = {
  router: AppRouter
  log: Logger
  tracing: Tracing | undefined
  limits: RateLimits
  findReadinessProblem: ReadinessProblem
  providerWebhooks: ProviderWebhooks
  workflowWebhooks: WorkflowWebhooks
  media: MediaFiles
  downloads: readonly DownloadRoute[]
  uploads: readonly UploadRoute[]
  appOrigins: ReadonlySet<string>
  /** Finds the address that a request came from, behind the trusted proxies. */
  resolveAddress: (peer: string, forwardedFor: string | undefined) => string
  isProxy: IsProxy
  isHostAllowed: IsHostAllowed
  /** The delay of the event loop above which requests are rejected. */
  loopLagMaxMs: number
  identify: Identify
  identifyKey: IdentifyKey
  demoAccount: ShownAccount
  isProduction: boolean
  scopes: RequestScopes
}

/** Creates the Koa server. The middleware is listed in the order in which it runs. */
export function createHttpServer(dependencies: HttpDependencies): Server {
  const { router, log, tracing } = dependencies
  const admission = new Admission(log)
  const contexts = createContexts({ ...dependencies, admission })
  const routes = new ApiRoutes()
  addUploads(routes, dependencies.uploads, contexts)
  addDownloads(routes, dependencies.downloads, contexts)
  routes.add('GET', EVENTS_STREAM_PATH, eventsRoute(router, { openContext: contexts.openForStream, admission }))
  addOperations(routes, router, contexts)
  const readOpenApi = openApiSource(router)
  const guard = new WebhookGuard(dependencies.limits)
  const lag = new LoopLag()
  const unsent = new UnsentAnswers({ admission })
  const koa = new Koa()
  koa.use(requestId())
  const maskPath = createPathMask(router)
  if (tracing) koa.use(traceRequests(tracing, maskPath))
  koa.use(accessLog(log, router, maskPath))
  koa.use(securityHeaders(dependencies.isProxy))
  koa.use(errorBodies(log))
  koa.use(canonicalPath())
  koa.use(outsideApi(healthRoutes(dependencies.findReadinessProblem)))
  koa.use(rejectWhileLate(lag, dependencies.loopLagMaxMs, admission))
  koa.use(contexts.readAddress)
  koa.use(boundAnswers(unsent))
  koa.use(boundBodies(new BodyBudget({ admission })))
  koa.use(outsideApi(workflowWebhookRoutes(dependencies.workflowWebhooks, guard)))
  koa.use(outsideApi(providerWebhookRoutes(dependencies.providerWebhooks, guard)))
  koa.use(checkHost(dependencies.isHostAllowed))
  koa.use(outsideApi(mediaDownloads(dependencies.media)))
  koa.use(allowOrigins(dependencies.appOrigins))
  koa.use(identifyApiKey(dependencies.identifyKey))
  koa.use(rateLimit(dependencies.limits, costTable(router)))
  koa.use(outsideApi(indexPage(dependencies.demoAccount)))
  koa.use(outsideApi(docsSite({ readOpenApi, account: dependencies.demoAccount })))
  koa.use(outsideApi(consoleSite({ account: dependencies.demoAccount, isProduction: dependencies.isProduction, log })))
  koa.use(outsideApi(openapiRoute(readOpenApi)))
  koa.use(rejectCrossOrigin(dependencies.appOrigins, log))
  const chargeSession = createChargeSession(dependencies.limits)
  const openContext = (ctx: Koa.Context) => contexts.openForStream(ctx, null)
  koa.use(outsideApi(mcpEndpoint(router, { openContext, log })))
  koa.use(trpcEndpoint(router, { openContext: contexts.openForTrpc, chargeSession, admission }))
  koa.use(routes.middleware())
  koa.on('error', (error: Error) => logFailure(log, error, 'response failed'))
  return createNodeServer(koa.callback(), { log, isProxy: dependencies.isProxy, admission }).once('close', () => {
    lag.stop()
    unsent.stop()
  })
}

/** Skips the middleware for calls of the API, most requests, as each costs them some promises. */
function outsideApi(middleware: Koa.Middleware): Koa.Middleware {
  return (ctx, next) => (isUnder(ctx.path, API_PREFIX) ? next() : middleware(ctx, next))
}
