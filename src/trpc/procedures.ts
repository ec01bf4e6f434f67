import { initTRPC } from '@trpc/server'
import { ForbiddenError, UnauthorizedError } from '../platform/errors.ts'
import { SECOND } from '../platform/time.ts'
import type { Role } from '../scope.ts'
import type { RequestContext } from './context.ts'
import { publicError, toTrpcError } from './errors.ts'
import { runOnce } from './idempotency.ts'
import type { ProcedureMeta } from './rest.ts'
import { transformer } from './transformer.ts'

/** A connection may die without a word; either side finds out, as long as something is said from time to time. */
const STILL_THERE = {
  ping: { enabled: true, intervalMs: 5 * SECOND },
  client: { reconnectAfterInactivityMs: 20 * SECOND },
}

const t = initTRPC
  .context<RequestContext>()
  .meta<ProcedureMeta>()
  .create({
    transformer,
    isDev: false,
    sse: STILL_THERE,
    errorFormatter({ shape, error, ctx }) {
      const { status, body } = publicError(error, ctx?.requestId ?? 'unknown')
      return {
        ...shape,
        message: body.error,
        data: { code: shape.data.code, httpStatus: status, path: shape.data.path, ...body },
      }
    },
  })

export const router = t.router
export const mergeRouters = t.mergeRouters

const translated = t.procedure.use(async ({ ctx, path, next }) => {
  const result = await next()
  if (result.ok) return result
  const error = toTrpcError(result.error)
  if (error.code === 'INTERNAL_SERVER_ERROR') ctx.log.error({ err: error.cause, path }, 'procedure failed')
  throw error
})

/** Anybody: signing in, and what comes before it. */
export const publicProcedure = translated

const RANK: Record<Role, number> = { viewer: 0, agent: 1, admin: 2, owner: 3 }

function workspaceProcedure(least: Role) {
  return translated.use(({ ctx, type, path, meta, getRawInput, next }) => {
    const { caller } = ctx
    if (!caller || caller.workspace === 'missing') throw new UnauthorizedError()
    if (caller.workspace === 'refused' || RANK[caller.workspace.role] < RANK[least]) throw new ForbiddenError()
    const scope = ctx.openScope(caller, caller.workspace)
    const call = (opened: typeof scope) => next({ ctx: { caller, scope: opened } })
    if (!meta?.idempotent || ctx.idempotencyKey === null || type !== 'mutation') return call(scope)
    return runOnce({
      scope,
      key: ctx.idempotencyKey,
      route: path,
      getRawInput,
      setHeader: ctx.setHeader,
      proceed: call,
    })
  })
}

/** Members who may look. */
export const viewerProcedure = workspaceProcedure('viewer')
/** Members who talk with customers. */
export const agentProcedure = workspaceProcedure('agent')
/** Members who change how the workspace works. */
export const adminProcedure = workspaceProcedure('admin')
