import type { Middleware } from 'koa'
import type { AppRouter } from '../router.ts'

export function openapiRoute(_router: AppRouter): Middleware {
  return (_ctx, next) => next()
}
