import type { Middleware } from 'koa'
import { newId } from '../platform/ids.ts'

const ACCEPTABLE = /^[A-Za-z0-9_-]{8,128}$/

/** Gives each request an id, or keeps a harmless one that a proxy gave it. Every answer carries it. */
export function requestId(): Middleware {
  return async function assignRequestId(ctx, next) {
    const given = ctx.get('x-request-id')
    ctx.state['requestId'] = ACCEPTABLE.test(given) ? given : newId()
    ctx.set('X-Request-Id', ctx.state['requestId'])
    await next()
  }
}
