import type { Context, Middleware } from 'koa'
import { addressKey } from '../platform/client-address.ts'
import type { Logger } from '../platform/log.ts'
import type { Caller, RequestContext } from '../trpc/context.ts'

const SESSION_COOKIE = 'session_token'

/** Who presents this token, and whether the named workspace lets them in. `cookie` is to be set on the answer. */
export type Identify = (claim: {
  token: string
  tenantId: string | null
}) => Promise<{ caller: Caller; cookie?: string } | null>

type Parts = {
  log: Logger
  addressOf: (peer: string, forwardedFor: string | undefined) => string
  identify: Identify
  scopes: Pick<RequestContext, 'system' | 'auth' | 'openScope'>
}

/** Makes of a request what the procedures know of it. */
export function openContexts(parts: Parts) {
  async function build(ctx: Context, tenantId: string | null): Promise<RequestContext> {
    const token = readSessionToken(ctx)
    const identity = token === null ? null : await parts.identify({ token, tenantId })
    if (identity?.cookie) ctx.res.appendHeader('Set-Cookie', identity.cookie)
    const requestId = ctx.state['requestId'] as string
    return {
      requestId,
      ...parts.scopes,
      log: parts.log.child({ requestId }),
      caller: identity?.caller ?? null,
      sessionToken: token,
      client: {
        ipAddress: ctx.state['ipAddress'] as string,
        addressKey: ctx.state['addressKey'] as string,
        userAgent: ctx.get('user-agent').slice(0, 255) || null,
      },
      idempotencyKey: ctx.req.headers['idempotency-key']?.toString() ?? null,
      setHeader: (name, value) => {
        if (name.toLowerCase() === 'set-cookie') ctx.res.appendHeader(name, value)
        else ctx.res.setHeader(name, value)
      },
    }
  }

  const readAddress: Middleware = async function readAddress(ctx, next) {
    const ipAddress = parts.addressOf(
      ctx.req.socket.remoteAddress ?? '0.0.0.0',
      ctx.req.headers['x-forwarded-for']?.toString(),
    )
    ctx.state['ipAddress'] = ipAddress
    ctx.state['addressKey'] = addressKey(ipAddress)
    await next()
  }

  const open: Middleware = async function openContext(ctx, next) {
    ctx.state['context'] = await build(ctx, headerTenant(ctx))
    await next()
  }

  return {
    readAddress,
    open,
    of: (ctx: Context) => ctx.state['context'] as RequestContext,
    /** An EventSource cannot send headers, so a subscription may name its workspace in the connection parameters. */
    openNative: (ctx: Context, connection: { tenantId: string | null }) =>
      build(ctx, headerTenant(ctx) ?? connection.tenantId),
  }
}

function headerTenant(ctx: Context): string | null {
  return ctx.get('x-tenant-id') || null
}

/** Two cookies of this name with different values mean that somebody planted one: neither is believed. */
function readSessionToken(ctx: Context): string | null {
  const values = ctx
    .get('cookie')
    .split(';')
    .flatMap((pair) => {
      const at = pair.indexOf('=')
      return pair.slice(0, at).trim() === SESSION_COOKIE ? [pair.slice(at + 1).trim()] : []
    })
  return new Set(values).size === 1 ? (values[0] as string) : null
}
