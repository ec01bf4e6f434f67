import cors from '@koa/cors'
import type { Context, Middleware } from 'koa'
import { ForbiddenError } from '../platform/errors.ts'

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])
const EXPOSED = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'X-Request-Id',
  'Idempotency-Replayed',
]

/** Browsers of listed origins may call with credentials; every other origin gets no CORS header at all. */
export function allowOrigins(origins: ReadonlySet<string>): Middleware {
  const listed = (ctx: Context) => origins.has(ctx.get('origin'))
  const answer = cors({
    origin: (ctx) => (listed(ctx) ? ctx.get('origin') : ''),
    credentials: listed,
    allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowHeaders: ['Content-Type', 'X-Tenant-Id', 'Idempotency-Key', 'X-Request-Id', 'trpc-accept', 'Last-Event-Id'],
    exposeHeaders: EXPOSED,
    maxAge: 600,
  })
  return async function answerOrigins(ctx, next) {
    if (ctx.method !== 'OPTIONS') return answer(ctx, next)
    await answer(ctx, async () => undefined)
    ctx.vary('Origin')
    ctx.status = 204
  }
}

/**
 * A browser says where a request comes from, and cannot be made to lie by a page. What changes something is refused
 * from anywhere but this service's own origin and the listed ones. Clients that are no browsers say nothing, and pass.
 */
export function rejectCrossOrigin(origins: ReadonlySet<string>): Middleware {
  return async function checkOrigin(ctx, next) {
    if (!SAFE_METHODS.has(ctx.method) && !isTrusted(ctx, origins)) throw new ForbiddenError()
    await next()
  }
}

function isTrusted(ctx: Context, origins: ReadonlySet<string>): boolean {
  const origin = ctx.get('origin')
  if (origin !== '') return origins.has(origin) || isOwn(origin, ctx.get('host'))
  const site = ctx.get('sec-fetch-site')
  return site === '' || site === 'same-origin' || site === 'none'
}

/** The scheme is not compared: behind a proxy that ends TLS this process sees plain http. */
function isOwn(origin: string, host: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === host
}
