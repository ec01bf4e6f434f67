import type { Middleware } from 'koa'
import type { AppRouter } from '../../router.ts'
import { OPENAPI_PATH } from '../paths.ts'
import { buildOpenApi } from './build-openapi.ts'

/** Serves the OpenAPI document, which is built on the first request. */
export function openapiRoute(router: AppRouter): Middleware {
  let document: string | undefined
  return async function answerOpenapi(ctx, next) {
    if (ctx.path !== OPENAPI_PATH || ctx.method !== 'GET') return next()
    document ??= JSON.stringify(buildOpenApi(router))
    ctx.type = 'application/json; charset=utf-8'
    ctx.body = document
  }
}
