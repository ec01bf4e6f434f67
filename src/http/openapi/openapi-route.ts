import type { Middleware } from 'koa'
import type { AppRouter } from '../../router.ts'
import { buildOpenApi } from './build-openapi.ts'

/** `GET /openapi.json`, built when it is first asked for. */
export function openapiRoute(router: AppRouter): Middleware {
  let document: string | undefined
  return async function answerOpenapi(ctx, next) {
    if (ctx.path !== '/openapi.json' || ctx.method !== 'GET') return next()
    document ??= JSON.stringify(buildOpenApi(router))
    ctx.type = 'application/json; charset=utf-8'
    ctx.body = document
  }
}
