import { Readable } from 'node:stream'
import type { Context, Middleware } from 'koa'
import { isUuid } from '../platform/ids.ts'
import type { Role } from '../scope/dependencies.ts'
import type { Scope } from '../scope/scope.ts'
import type { ApiScope } from '../trpc/api-scopes.ts'
import { startAudit, toType } from '../trpc/audit.ts'
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

/** An answer of many lines to `GET path`, for members with the role and for API keys with the scope. It is audited. */
export type DownloadRoute = {
  path: `/api/${string}`
  /** The action of its audit events. */
  action: string
  role?: Role
  scope: ApiScope
  /** True for a path of which a procedure answers other clients than those that prefer lines of JSON. */
  isAlternative?: boolean
  open(scope: Scope, request: DownloadRequest): Promise<Download>
}

/** Serves downloads, as fast as their clients take them. */
export function addDownloads(
  routes: ApiRoutes,
  downloads: readonly DownloadRoute[],
  contexts: { open: Middleware; get: (ctx: Context) => RequestContext },
): void {
  for (const download of downloads) {
    const serve = answer(download, contexts.get)
    if (download.isAlternative) routes.add('GET', download.path, ifPreferred(serve, contexts.open))
    else routes.add('GET', download.path, contexts.open, serve)
  }
}

const LINES = 'application/x-ndjson'

function ifPreferred(serve: Middleware, open: Middleware): Middleware {
  return async function answerPreferred(ctx, next) {
    ctx.vary('Accept')
    if (ctx.accepts('application/json', LINES) !== LINES) return next()
    return open(ctx, () => Promise.resolve(serve(ctx, next)))
  }
}

function answer(
  { path, action, role = 'viewer', scope, open }: DownloadRoute,
  getContext: (ctx: Context) => RequestContext,
): Middleware {
  return async function answerDownload(ctx) {
    const context = getContext(ctx)
    const { caller, workspaceId } = authorize(context, role, scope)
    const reader = context.openScope(caller, workspaceId, undefined, startAudit(context, action))
    const { type, filename, lines } = await open(reader, {
      params: ctx['params'],
      querystring: ctx.querystring,
      accepts: (types) => ctx.accepts(types),
    })
    await audit(reader, path, ctx['params'])
    ctx.set('Cache-Control', 'no-store')
    ctx.set('Content-Disposition', `attachment; filename="${filename}"`)
    ctx.type = `${type}; charset=utf-8`
    ctx.body = Readable.from(lines, { objectMode: false })
  }
}

/** Records an export before its first line, with what its path names. */
async function audit(reader: Scope, path: string, params: Record<string, string>): Promise<void> {
  await reader.transaction(async (tx) => {
    for (const [, segment = '', name = ''] of path.matchAll(/([\w-]+)\/\{(\w+)\}/g)) {
      const id = params[name] ?? ''
      if (isUuid(id)) tx.audit?.addTargets(toType(segment), [id.toLowerCase()])
    }
  })
}
