import { initTRPC } from '@trpc/server'
import { ZodError } from 'zod'
import '../platform/validation-messages.ts'
import { getField } from '../platform/fields.ts'
import { ForbiddenError, InvalidError, UnauthorizedError } from '../platform/errors.ts'
import { isUuid } from '../platform/ids.ts'
import type { ApiScope } from './api-scopes.ts'
import { includesRole, type Role } from '../scope/dependencies.ts'
import type { Scope } from '../scope/scope.ts'
import { recordRefusal, startAudit } from './audit.ts'
import type { RequestContext } from './context.ts'
import type { Caller, KeyCaller } from './caller.ts'
import { findOutage, toErrorShape, toPublicError, toTrpcError } from './errors.ts'
import { commitOnce, type Once, runOnce, toKeyedRequest } from './idempotency.ts'
import type { ProcedureMeta } from './rest.ts'
import { transformer } from './transformer.ts'

const t = initTRPC
  .context<RequestContext>()
  .meta<ProcedureMeta>()
  .create({
    transformer,
    isDev: false,
    errorFormatter: ({ shape, error, ctx }) =>
      toErrorShape(toPublicError(error, ctx?.requestId ?? 'unknown'), shape.data.path),
  })

export const router = t.router
export const mergeRouters = t.mergeRouters

type Access = Pick<RequestContext, 'caller' | 'key'>

type Call = {
  ctx: RequestContext
  type: string
  path: string
  meta: ProcedureMeta | undefined
  signal: AbortSignal | undefined
  getRawInput: () => Promise<unknown>
}

/**
 * Logs and converts what a call throws, and records the mutations that a caller may not make. A call whose input names
 * another workspace than the request says so with `setAccess`.
 */
async function convertErrors<R extends { ok: boolean }>(
  { ctx, type, path, meta, signal, getRawInput }: Call,
  call: (setAccess: (access: Access) => void) => Promise<R>,
): Promise<R> {
  let access: Access = ctx
  let failure: unknown
  try {
    const result = await call((named) => (access = named))
    if (result.ok) return result
    failure = getField(result, 'error')
  } catch (error) {
    failure = error
  }
  const error = toTrpcError(failure)
  const isInvalid = error.code === 'BAD_REQUEST' && error.cause instanceof ZodError
  if (isInvalid && (await getRawInput()) === undefined) throw toTrpcError(missingInputError(type))
  if (error.code === 'INTERNAL_SERVER_ERROR')
    ctx.log.error({ event: 'request_failed', err: error.cause, path }, 'procedure failed')
  const isRefused = error.cause instanceof ForbiddenError && type === 'mutation' && meta?.role
  if (isRefused) await recordRefusal(ctx, access, meta?.action ?? path)
  const outage = findOutage(error)
  if (outage && !signal?.aborted)
    ctx.log.warn({ event: 'dependency_unavailable', err: outage, path }, 'procedure failed for lack of a dependency')
  throw error
}

/** The error of a call of a tRPC client without an input, whose fields cannot all be left out. */
function missingInputError(type: string): InvalidError {
  const [path, noun] = type === 'mutation' ? ['', 'the request body'] : ['input', 'the query parameter `input`']
  return new InvalidError(`${noun} is required`, [{ path, message: 'is required' }])
}

/** Callers without a session. */
export const publicProcedure = t.procedure.use((call) => convertErrors(call, () => call.next()))

/** Signed-in users, whichever workspace the request names, if any; no API keys. */
export const sessionProcedure = t.procedure.use((call) =>
  convertErrors(call, async () => {
    const { caller, key } = call.ctx
    if (key) throw key.workspace === 'refused' ? new ForbiddenError() : peopleOnlyError()
    if (!caller) throw new UnauthorizedError()
    return call.next({ ...wrapInput(call), ctx: { caller } })
  }),
)

/**
 * Returns the caller and the ID of their workspace.
 * @throws UnauthorizedError; ForbiddenError unless the member has the role in the workspace, or the API key the scope.
 * Without a scope only members are allowed.
 */
export function authorize(
  { caller, key }: Access,
  minimumRole: Role,
  scope: ApiScope | undefined,
): { caller: Caller; workspaceId: string } {
  if (key) return authorizeKey(key, scope)
  if (!caller || caller.workspace === 'missing') throw new UnauthorizedError()
  const { workspace } = caller
  if (workspace === 'refused') throw new ForbiddenError()
  if (!includesRole(workspace.role, minimumRole)) throw roleError(workspace.role, minimumRole)
  return { caller, workspaceId: workspace.id }
}

function roleError(role: Role, minimumRole: Role): ForbiddenError {
  return new ForbiddenError(`This needs the role ${minimumRole}, and yours is ${role}. Ask an admin for it`)
}

function authorizeKey(caller: KeyCaller, scope: ApiScope | undefined) {
  const { key, workspace } = caller
  if (workspace === 'refused') throw new ForbiddenError()
  if (scope === undefined) throw peopleOnlyError()
  if (!key.scopes.has(scope)) throw new ForbiddenError(undefined, undefined, { error: 'insufficient_scope', scope })
  return { caller, workspaceId: workspace.id }
}

/** The error of a call with an API key that is for people. */
function peopleOnlyError(): ForbiddenError {
  const description = 'API keys cannot do this, only members'
  return new ForbiddenError(undefined, undefined, { error: 'insufficient_scope', error_description: description })
}

/**
 * Wraps the reading of an input of a tRPC client. One that is left out has no fields. Infinite queries of tRPC's React
 * package always send the direction of the next page, which is no field of a list: pages have an order, and continue
 * forward only.
 */
function wrapInput({ ctx, type, getRawInput }: Pick<Call, 'ctx' | 'type' | 'getRawInput'>) {
  if (ctx.transport !== 'trpc') return {}
  const readInput = async () => {
    const input = (await getRawInput()) ?? {}
    if (type !== 'query' || getField(input, 'direction') !== 'forward') return input
    const { direction: _direction, ...fields } = Object(input)
    return fields
  }
  return { getRawInput: readInput }
}

/** Returns the access of a session to the workspace that the input names as `organizationId`, or else of the header. */
async function findNamedAccess(
  { caller, key, auth }: RequestContext,
  getRawInput: () => Promise<unknown>,
): Promise<Access> {
  const id = caller && getField(await getRawInput(), 'organizationId')
  if (!caller || typeof id !== 'string') return { caller, key }
  const role = isUuid(id) ? await auth.findRole(caller.user.id, id) : null
  return { caller: { ...caller, workspace: role ? { id: id.toLowerCase(), role } : 'refused' }, key }
}

function workspaceProcedure(minimumRole: Role, { isNamed = false } = {}) {
  // One middleware, as each costs tRPC several copies of the call.
  return t.procedure.meta({ role: minimumRole }).use((call) =>
    convertErrors(call, async (setAccess) => {
      const { ctx, type, path, meta, signal, getRawInput, next } = call
      const access = isNamed ? await findNamedAccess(ctx, getRawInput) : ctx
      setAccess(access)
      const { caller, workspaceId } = authorize(access, minimumRole, meta?.scope)
      // The reads of a client that disconnects are canceled. Changes are completed, as a part of them may be committed, and
      // the reads of subscriptions are shared.
      const audit =
        type === 'mutation' && meta?.unaudited === undefined ? startAudit(ctx, meta?.action ?? path) : undefined
      const scope = ctx.openScope(caller, workspaceId, type === 'query' ? signal : undefined, audit)
      const { idempotencyKey: key, setHeader, chargeKeyedAnswer } = ctx
      const isKeyed = meta?.idempotent && key !== null && type === 'mutation'
      const request = isKeyed ? toKeyedRequest({ key, route: path, input: await getRawInput() }) : undefined
      const once: Once = (output, work) =>
        request
          ? commitOnce({ scope, request, setHeader, chargeKeyedAnswer }, output, work)
          : work((change) => scope.transaction(change))
      const proceed = (callScope: Scope) => next({ ...wrapInput(call), ctx: { caller, scope: callScope, once } })
      if (type === 'query' && ctx.batch) return ctx.batch.run(() => proceed(scope), signal)
      const isWhole = request && meta?.idempotent === true
      return isWhole ? runOnce(scope, request, { setHeader, chargeKeyedAnswer, proceed }) : proceed(scope)
    }),
  )
}

/** Members who may read. */
export const viewerProcedure = workspaceProcedure('viewer')
/** Members who talk with customers. */
export const agentProcedure = workspaceProcedure('agent')
/** Members who configure the workspace. */
export const adminProcedure = workspaceProcedure('admin')
/** Members who own the workspace. */
export const ownerProcedure = workspaceProcedure('owner')
/** The same for calls that may name their workspace in the input. */
export const organizationViewerProcedure = workspaceProcedure('viewer', { isNamed: true })
export const organizationAdminProcedure = workspaceProcedure('admin', { isNamed: true })
export const organizationOwnerProcedure = workspaceProcedure('owner', { isNamed: true })
