import { Readable } from 'node:stream'
import type { Context, Middleware } from 'koa'
import type { Scope } from '../scope/scope.ts'
import type { ApiScope } from '../trpc/api-scopes.ts'
import type { RequestContext } from '../trpc/context.ts'
import { authorize } from '../trpc/procedures.ts'
import type { ApiRoutes } from './api-routes.ts'

export type DownloadRequest = {
  params: Record<string, string>
  querystring: string
  /** Returns the first of some media types that the client accepts, by its preferences. */
  accepts(types: string[]): string | false
}

/** A text that is made while it is sent. */
export type Download = { type: 'text/csv' | 'application/x-ndjson'; filename: string; lines: AsyncIterable<string> }

/** An answer of many lines to `GET path`, for members and for API keys with the scope. */
export type DownloadRoute = {
  path: `/api/${string}`
  scope: ApiScope
  open(scope: Scope, request: DownloadRequest): Promise<Download>
}

/** Serves downloads, as fast as their clients take them. */
export function addDownloads(
  routes: ApiRoutes,
  downloads: readonly DownloadRoute[],
  contexts: { open: Middleware; get: (ctx: Context) => RequestContext },
): void {
  for (const download of downloads) routes.add('GET', download.path, contexts.open, answer(download, contexts.get))
}

function answer({ scope, open }: DownloadRoute, getContext: (ctx: Context) => RequestContext): Middleware {
  return async function answerDownload(ctx) {
    const context = getContext(ctx)
    const { caller, workspaceId } = authorize(context, 'viewer', scope)
    const { type, filename, lines } = await open(context.openScope(caller, workspaceId, undefined), {
      params: ctx['params'],
      querystring: ctx.querystring,
      accepts: (types) => ctx.accepts(types),
    })
    ctx.set('Cache-Control', 'no-store')
    ctx.set('Content-Disposition', `attachment; filename="${filename}"`)
    ctx.type = `${type}; charset=utf-8`
    ctx.body = Readable.from(lines, { objectMode: false })
  }
}
