import type { Middleware } from 'koa'
import { TransportError } from '../../trpc/errors.ts'

/** Segments of unreserved characters, none of them a dot segment or empty, without a slash at the end. */
const CANONICAL = /^(?:\/|(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~,-]+)+)$/

/**
 * Answers 404 to every other spelling of a path. Limits and access are decided by path, so a path must have one
 * spelling only: no `//`, no `%2e`, no `\`, no absolute form.
 */
export function canonicalPath(): Middleware {
  return function checkSpelling(ctx, next) {
    const target = ctx.req.url ?? ''
    const end = target.indexOf('?')
    if (!CANONICAL.test(end === -1 ? target : target.slice(0, end))) throw new TransportError('NOT_FOUND')
    return next()
  }
}
