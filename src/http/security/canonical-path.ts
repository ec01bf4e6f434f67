import type { Middleware } from 'koa'
import { TransportError } from '../../trpc/errors.ts'
import { CONSOLE_PATH } from '../paths.ts'

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
    const path = end === -1 ? target : target.slice(0, end)
    // People type the slash.
    if (path === `${CONSOLE_PATH}/`) return ctx.redirect(CONSOLE_PATH)
    if (!CANONICAL.test(path)) throw new TransportError('NOT_FOUND')
    return next()
  }
}
