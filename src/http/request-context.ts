import type { Context, Middleware } from 'koa'
import { addressKey, clientNetwork } from '../platform/client-address.ts'
import type { Logger } from '../platform/log.ts'
import type { RateLimits } from '../platform/rate-limit/rate-limits.ts'
import type { Span } from '../platform/tracing/span.ts'
import type { Scope } from '../scope/scope.ts'
import { BatchBudget } from '../trpc/batch-budget.ts'
import type { RequestContext, Transport } from '../trpc/context.ts'
import { callerId, type KeyCaller, type UserCaller } from '../trpc/caller.ts'
import { findKey } from './api-key.ts'
import { setWorkspace, toLogFields } from './log-fields.ts'
import type { Admission } from './load/admission.ts'
import { findSpan } from './trace-requests.ts'

const SESSION_COOKIE = 'session_token'
const TWO_FACTOR_COOKIE = 'two_factor'

/** Resolves a session token and the caller's role in the named workspace. `cookie` is to be set on the answer. */
export type Identify = (claim: {
  token: string
  tenantId: string | null
}) => Promise<{ caller: UserCaller; cookie?: string } | null>

type OpenScope = RequestContext['openScope']

/** The parts of a context that are the same for all requests. `openScope` gets the origin of the request as well. */
export type RequestScopes = Pick<RequestContext, 'system' | 'auth'> & {
  openScope(origin: { network: string; span: Span | undefined }, ...call: Parameters<OpenScope>): Scope
}

type Dependencies = {
  log: Logger
  limits: Pick<RateLimits, 'chargeKeyedAnswer'>
  admission: Admission
  resolveAddress: (peer: string, forwardedFor: string | undefined) => string
  identify: Identify
  scopes: RequestScopes
}

/** Parts of a tRPC request that are not in its headers. */
export type TrpcCall = { tenantId: string | null; isBatch: boolean }

type Call = { tenantId: string | null; transport: Transport; isBatch?: boolean }

/** Builds the context that procedures receive from a request. */
export function createContexts({ log, limits, admission, resolveAddress, identify, scopes }: Dependencies) {
  async function build(ctx: Context, { tenantId, transport, isBatch = false }: Call): Promise<RequestContext> {
    const apiKey = readKey(ctx, tenantId)
    const sessionToken = readSessionToken(ctx)
    const identity = apiKey || sessionToken === null ? null : await identify({ token: sessionToken, tenantId })
    if (identity?.cookie) ctx.res.appendHeader('Set-Cookie', identity.cookie)
    const workspace = (apiKey ?? identity?.caller)?.workspace
    if (typeof workspace === 'object') setWorkspace(ctx, workspace.id)
    const { requestId, ipAddress, addressKey: key } = ctx.state
    return {
      requestId,
      ...scopes,
      openScope: (...call) => scopes.openScope({ network: clientNetwork(key), span: findSpan(ctx) }, ...call),
      log: log.child(toLogFields(ctx)),
      caller: identity?.caller ?? null,
      key: apiKey,
      sessionToken,
      twoFactorToken: apiKey ? null : readCookie(ctx, TWO_FACTOR_COOKIE),
      client: { ipAddress, addressKey: key, userAgent: ctx.get('user-agent').slice(0, 255) || null },
      transport,
      batch: isBatch ? new BatchBudget() : null,
      idempotencyKey: ctx.req.headers['idempotency-key']?.toString() ?? null,
      chargeKeyedAnswer: limits.chargeKeyedAnswer,
      takeUpload: (caller, workspaceId) =>
        admission.takeUpload(clientNetwork(key), { workspaceId, callerId: callerId(caller) }),
      setHeader: (name, value) => {
        if (name.toLowerCase() === 'set-cookie') ctx.res.appendHeader(name, value)
        else ctx.res.setHeader(name, value)
      },
    }
  }

  const readAddress: Middleware = function readAddress(ctx, next) {
    const forwardedFor = ctx.req.headers['x-forwarded-for']?.toString()
    const ipAddress = resolveAddress(ctx.req.socket.remoteAddress ?? '0.0.0.0', forwardedFor)
    ctx.state['ipAddress'] = ipAddress
    ctx.state['addressKey'] = addressKey(ipAddress)
    return next()
  }

  const open: Middleware = async function openContext(ctx, next) {
    ctx.state['context'] = await build(ctx, { tenantId: readTenantId(ctx), transport: 'rest' })
    await next()
  }

  return {
    readAddress,
    open,
    get: (ctx: Context): RequestContext => ctx.state['context'],
    openForStream: (ctx: Context, tenantId: string | null) =>
      build(ctx, { tenantId: readTenantId(ctx) ?? tenantId, transport: 'rest' }),
    /** An EventSource cannot send headers, so a subscription may name its workspace in the connection parameters. */
    openForTrpc: (ctx: Context, { tenantId, isBatch }: TrpcCall) =>
      build(ctx, { tenantId: readTenantId(ctx) ?? tenantId, transport: 'trpc', isBatch }),
  }
}

function readTenantId(ctx: Context): string | null {
  return ctx.get('x-tenant-id') || null
}

/** The workspace is that of the key. A request that names another one has been sent with the wrong key. */
function readKey(ctx: Context, tenantId: string | null): KeyCaller | null {
  const key = findKey(ctx)
  if (!key) return null
  const isSame = tenantId === null || tenantId.toLowerCase() === key.workspaceId
  return { key, workspace: isSame ? { id: key.workspaceId } : 'refused' }
}

export function readSessionToken(ctx: Context): string | null {
  return readCookie(ctx, SESSION_COOKIE)
}

/** Two cookies of one name with different values mean that one was planted: neither is accepted. */
function readCookie(ctx: Context, name: string): string | null {
  const values = ctx
    .get('cookie')
    .split(';')
    .flatMap((pair) => {
      const at = pair.indexOf('=')
      return pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : []
    })
  const [token = null, ...others] = new Set(values)
  return others.length === 0 ? token : null
}
