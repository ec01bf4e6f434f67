import cors from '@koa/cors'
import type { Context, Middleware } from 'koa'
import { ForbiddenError } from '../../platform/errors.ts'
import type { Logger } from '../../platform/log.ts'
import { findKey } from '../api-key.ts'
import { MCP_PATH } from '../paths.ts'

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])
const EXPOSED = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
  'Idempotency-Replayed',
]

/** Allows browsers of the listed origins to call with credentials; every other origin gets no CORS header. */
export function allowOrigins(origins: ReadonlySet<string>): Middleware {
  const isListed = (ctx: Context) => origins.has(ctx.get('origin'))
  const setHeaders = cors({
    origin: (ctx) => (isListed(ctx) ? ctx.get('origin') : ''),
    credentials: isListed,
    allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowHeaders: [
      'Authorization',
      'Content-Type',
      'X-Tenant-Id',
      'Idempotency-Key',
      'X-Request-Id',
      'trpc-accept',
      'Last-Event-Id',
      'Mcp-Protocol-Version',
      'Mcp-Method',
      'Mcp-Name',
    ],
    exposeHeaders: EXPOSED,
    maxAge: 600,
  })
  return async function answerOrigins(ctx, next) {
    if (ctx.method !== 'OPTIONS') return setHeaders(ctx, next)
    await setHeaders(ctx, async () => undefined)
    ctx.vary('Origin')
    ctx.status = 204
  }
}

/**
 * Rejects changes from other origins than the service's own and the listed ones. Browsers send the origin and pages
 * cannot forge it; clients that are no browsers send none, and pass. Logs each listed origin on another site once, as
 * its sign-ins succeed without a session: browsers drop the cookie, and the page learns nothing of it.
 */
export function rejectCrossOrigin(origins: ReadonlySet<string>, log: Logger): Middleware {
  const logged = new Set<string>()
  return function checkOrigin(ctx, next) {
    // A page cannot send a key of which it does not know. The protocol of assistants wants the check all the same.
    if (SAFE_METHODS.has(ctx.method) || (findKey(ctx) && ctx.path !== MCP_PATH)) return next()
    if (!isTrusted(ctx, origins)) throw new ForbiddenError()
    const origin = ctx.get('origin')
    if (ctx.get('sec-fetch-site') === 'cross-site' && origins.has(origin) && !logged.has(origin)) {
      logged.add(origin)
      log.warn({ event: 'cross_site_origin', origin, host: ctx.get('host').slice(0, HOST_MAX) }, CROSS_SITE)
    }
    return next()
  }
}

/** The longest name in the domain name system, and a port. */
const HOST_MAX = 260
/** The log line of an origin on another site. */
export const CROSS_SITE =
  'browsers keep no session for this origin, as it is on another site than this server: call the server by a name of the same site, for example http://localhost:3000 from http://localhost:5173'

function isTrusted(ctx: Context, origins: ReadonlySet<string>): boolean {
  const origin = ctx.get('origin')
  if (origin !== '') return origins.has(origin) || isSameHost(origin, ctx.get('host'))
  const site = ctx.get('sec-fetch-site')
  return site === '' || site === 'same-origin' || site === 'none'
}

/** The scheme is not compared: behind a proxy that ends TLS this process sees plain http. */
function isSameHost(origin: string, host: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === host
}
