import type { Readable } from 'node:stream'
import type { Context, Middleware } from 'koa'
import type { Scope } from '../scope/scope.ts'
import type { ApiScope } from '../trpc/api-scopes.ts'
import type { RequestContext } from '../trpc/context.ts'
import { TransportError } from '../trpc/errors.ts'
import { startAudit } from '../trpc/audit.ts'
import { authorize } from '../trpc/procedures.ts'
import type { ApiRoutes } from './api-routes.ts'
import { readUpload, UPLOAD_LIMITS } from './load/upload-body.ts'

export type Upload = {
  querystring: string
  /** Size that the client announces; 0 if it does not. */
  bytes: number
}

/** `POST path`, whose body is a file, for agents and for API keys with the scope. */
export type UploadRoute = {
  path: `/api/${string}`
  scope: ApiScope
  /** The action of its audit events, for a file that changes something. One that nothing names yet is not audited. */
  action?: string
  /** The media type of the body. Bodies of other types are for other routes of the path. By default all. */
  type?: string
  bytesMax: number
  /** Receives the file. Returns the answer. */
  receive(scope: Scope, stream: Readable, upload: Upload): Promise<{ status: number; body: object }>
}

type Contexts = { open: Middleware; get: (ctx: Context) => RequestContext }

/** Adds routes that take files. The role is checked before the body is read. */
export function addUploads(routes: ApiRoutes, uploads: readonly UploadRoute[], contexts: Contexts): void {
  for (const upload of uploads) {
    const receive = answer(upload, contexts)
    routes.add('POST', upload.path, receive)
  }
}

function answer({ scope, action, type, bytesMax, receive }: UploadRoute, contexts: Contexts): Middleware {
  const answerUpload: Middleware = async function answerUpload(ctx) {
    try {
      const context = contexts.get(ctx)
      const { caller, workspaceId } = authorize(context, 'agent', scope)
      const bytes = Number(ctx.get('content-length'))
      if (bytes > bytesMax) {
        throw new TransportError('PAYLOAD_TOO_LARGE', { message: `Files may have at most ${bytesMax / 1024 ** 2} MB` })
      }
      const release = context.takeUpload(caller, workspaceId)
      const body = readUpload(ctx.req, UPLOAD_LIMITS)
      try {
        const { querystring } = ctx
        const audit = action === undefined ? undefined : startAudit(context, action)
        const result = await receive(context.openScope(caller, workspaceId, undefined, audit), body, {
          querystring,
          bytes,
        })
        ctx.status = result.status
        ctx.type = 'application/json; charset=utf-8'
        ctx.body = JSON.stringify(result.body)
      } finally {
        // Nobody reads the rest of a body that is refused.
        body.on('error', () => undefined).destroy()
        release()
      }
    } catch (error) {
      // The rest of the body is not read, so the connection cannot carry another request.
      ctx.set('Connection', 'close')
      throw error
    }
  }
  return (ctx, next) => {
    if (type === undefined || ctx.is(type) === type) return contexts.open(ctx, () => answerUpload(ctx, next))
    ctx.state['otherTypes'] = type
    return next()
  }
}
