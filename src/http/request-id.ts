import type { Middleware } from 'koa'
import { newId } from '../platform/ids.ts'

const ACCEPTABLE = /^[A-Za-z0-9_-]{8,128}$/

/** Assigns each request an id, or keeps a well-formed one that a proxy set. Every answer carries it. */
export function requestId(): Middleware {
  return function assignRequestId(ctx, next) {
    const header = ctx.get('x-request-id')
    ctx.state['requestId'] = ACCEPTABLE.test(header) ? header : newId()
    ctx.set('X-Request-Id', ctx.state['requestId'])
    return next()
  }
}
