import type { Middleware } from 'koa'
import { isApi } from '../paths.ts'

const YEAR_SECONDS = 31_536_000

/** Returns true if the peer is a trusted proxy. */
export type IsProxy = (peer: string) => boolean

/** Sets the headers that tell browsers and caches to keep nothing, to guess nothing and to stay with https. */
export function securityHeaders(isProxy: IsProxy): Middleware {
  return function setSecurityHeaders(ctx, next) {
    ctx.set('X-Content-Type-Options', 'nosniff')
    ctx.set('Referrer-Policy', 'no-referrer')
    if (isApi(ctx.path)) ctx.set('Cache-Control', 'no-store')
    const isHttps = ctx.get('x-forwarded-proto').split(',').at(-1)?.trim() === 'https'
    if (isHttps && isProxy(ctx.req.socket.remoteAddress ?? '')) {
      ctx.set('Strict-Transport-Security', `max-age=${YEAR_SECONDS}`)
    }
    return next()
  }
}
