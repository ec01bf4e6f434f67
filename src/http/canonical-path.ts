import type { Middleware } from 'koa'
import { NotFoundError } from '../platform/errors.ts'

/** Segments of unreserved characters, none of them a dot segment, none empty, no slash at the end. */
const CANONICAL = /^(?:\/|(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~,-]+)+)$/

/**
 * Answers 404 to every other spelling of a path. Limits and access are decided by path, so a path must have one
 * spelling only: no `//`, no `%2e`, no `\`, no absolute form.
 */
export function canonicalPath(): Middleware {
  return async function refuseOtherSpellings(ctx, next) {
    const target = ctx.req.url ?? ''
    const end = target.indexOf('?')
    if (!CANONICAL.test(end === -1 ? target : target.slice(0, end))) throw new NotFoundError('Path')
    await next()
  }
}
