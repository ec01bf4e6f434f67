import type { Context, Middleware } from 'koa'
import type { AppRouter } from '../router.ts'
import { LimitExceededError, UnauthorizedError } from '../platform/errors.ts'
import { count, metrics } from '../platform/metrics.ts'
import {
  CALLER_CALLS,
  type Charge,
  type LimitState,
  type RateLimits,
  type Tier,
} from '../platform/rate-limit/rate-limits.ts'
import type { UserCaller } from '../trpc/caller.ts'
import { findChallenge, findKey } from './api-key.ts'
import {
  API_PREFIX,
  AUTH_PREFIX,
  INDEX_PATH,
  isDocs,
  isUnder,
  listBatchedProcedures,
  MCP_PATH,
  OPENAPI_PATH,
  POSTMAN_PATH,
  TRPC_PREFIX,
} from './paths.ts'
import { readSessionToken } from './request-context.ts'
import { listOperations, listProcedures } from './rest.ts'

/** Calls of a tRPC batch. */
export const BATCH_MAX = 10

/** Calls that are charged together: to a tier and those before it, or at `/trpc` to the caller. */
/** Paths outside `/api` whose requests consume the general tier. */
const PAGES: ReadonlySet<string> = new Set([INDEX_PATH, OPENAPI_PATH, POSTMAN_PATH, MCP_PATH])

type Cost = { tiers: Tier[] | 'native'; points: number }

/**
 * Derives the costs from the procedures. Every call under `/api`, of assistants, of the pages and of the OpenAPI document
 * consumes the general tier; one of authentication consumes the tier of its procedure first, and an unknown path under
 * `/api/auth` the `auth` tier. At `/trpc` only those of authentication consume tiers.
 */
export function costTable(router: AppRouter): (ctx: Context) => Cost[] {
  const rest = new Map(listOperations(router).map(({ method, path, meta }) => [`${method} ${path}`, meta.tier]))
  const procedures = listProcedures(router)
  const tiers = (tier: Tier | undefined): Tier[] => (tier ? [tier, 'api'] : ['api'])
  const listCalls = ({ path, method }: Context): Cost['tiers'][] => {
    if (PAGES.has(path) || isDocs(path)) return [tiers(undefined)]
    const isNative = isUnder(path, TRPC_PREFIX)
    const names = listBatchedProcedures(path)
    // A longer batch is refused, whatever it names.
    if (names && names.length > BATCH_MAX) return [tiers(undefined)]
    if (names) {
      return names.map((name) => {
        const meta = procedures.get(name)?._def.meta
        return isNative && meta?.role && !meta.tier ? 'native' : tiers(meta?.tier)
      })
    }
    if (path !== API_PREFIX && !isUnder(path, API_PREFIX)) return []
    if (!isUnder(path, AUTH_PREFIX)) return [tiers(undefined)]
    return [tiers(rest.get(`${method} ${path}`) ?? 'auth')]
  }
  return (ctx) => groupEqual(listCalls(ctx))
}

/** Equal calls of a batch are charged at once: all of them, or none. */
function groupEqual(calls: Cost['tiers'][]): Cost[] {
  const groups = new Map<string, Cost>()
  for (const tiers of calls) {
    const key = String(tiers)
    const group = groups.get(key) ?? { tiers, points: 0 }
    group.points += 1
    groups.set(key, group)
  }
  return [...groups.values()]
}

/** Calls in a minute of all API keys of a workspace, and at `/trpc` of a session and of all sessions of an address. */
export const CALLERS = { workspaceKeys: CALLER_CALLS.points, session: 600, address: 3_000 }

type Limits = Pick<RateLimits, 'charge' | 'chargeCallers'>

/**
 * Charges a request before anything else is done, and reports on every answer how much is left. A call in the general tier
 * or at `/trpc` is charged to the API key of the request, and every other one to the address.
 */
export function rateLimit(limits: Limits, listCosts: (ctx: Context) => Cost[]): Middleware {
  return async function chargeRequest(ctx, next) {
    for (const cost of listCosts(ctx)) assertCharged(ctx, await charge(ctx, limits, cost))
    const challenge = findChallenge(ctx)
    if (challenge) throw new UnauthorizedError(undefined, undefined, challenge)
    await next()
  }
}

function charge(ctx: Context, limits: Limits, { tiers, points }: Cost): Promise<Charge> {
  const addressKey: string = ctx.state['addressKey']
  const key = findKey(ctx)
  const isGeneral = tiers === 'native' || tiers.length === 1
  if (key && isGeneral) {
    const ofKey = { key: `key:${key.id}`, limit: key.limitPerMinute }
    // A workspace may have many keys.
    const ofWorkspace = { key: `keys:${key.workspaceId}`, limit: CALLERS.workspaceKeys }
    return limits.chargeCallers([ofKey, ofWorkspace], points)
  }
  if (tiers !== 'native') return limits.charge(addressKey, tiers, points)
  // Who has no cookie has no session, and does not use up what others at the same address have.
  if (findChallenge(ctx) || readSessionToken(ctx) === null) return limits.charge(addressKey, ['api'], points)
  ctx.state['nativeCalls'] = points
  return limits.chargeCallers([{ key: `address:${addressKey}`, limit: CALLERS.address }], points)
}

/** Charges the session of calls at `/trpc`, or the address if their cookie is that of none. */
export type ChargeSession = (ctx: Context, caller: UserCaller | null) => Promise<void>

export function createChargeSession(limits: Limits): ChargeSession {
  return async (ctx, caller) => {
    const points: number | undefined = ctx.state['nativeCalls']
    if (points === undefined) return
    const charged = caller
      ? await limits.chargeCallers([{ key: `session:${caller.session.id}`, limit: CALLERS.session }], points)
      : await limits.charge(ctx.state['addressKey'], ['api'], points)
    assertCharged(ctx, charged)
  }
}

/** Reports the limit with the fewest calls left. @throws LimitExceededError `rate_limited` */
function assertCharged(ctx: Context, { allowed, state }: Charge): void {
  const tightest: LimitState | undefined = ctx.state['tightestLimit']
  if (!tightest || !allowed || state.remaining < tightest.remaining) {
    ctx.state['tightestLimit'] = state
    ctx.set('RateLimit-Limit', String(state.limit))
    ctx.set('RateLimit-Remaining', String(state.remaining))
    ctx.set('RateLimit-Reset', String(state.resetSeconds))
  }
  if (allowed) return
  count(metrics.httpRejected, { reason: 'rate_limit' })
  throw new LimitExceededError('rate_limited', 'Too many requests, please try again later', state.resetSeconds)
}
