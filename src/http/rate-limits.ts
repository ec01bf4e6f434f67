import type { Context, Middleware } from 'koa'
import type { AppRouter } from '../router.ts'
import { LimitExceededError, UnauthorizedError } from '../platform/errors.ts'
import { CALLER_CALLS, type LimitState, type RateLimits, type Tier } from '../platform/rate-limit/rate-limits.ts'
import type { KeyAccess } from '../trpc/caller.ts'
import { findChallenge, findKey } from './api-key.ts'
import { API_PREFIX, AUTH_PREFIX, INDEX_PATH, isUnder, OPENAPI_PATH } from './paths.ts'
import { listOperations, listProcedures } from './rest.ts'
import { listBatchedProcedures } from './trpc-endpoint.ts'

/** Returns the tiers that each call of a request consumes, by method and path. */
export type Cost = (ctx: Context) => Tier[][]

/**
 * Derives the costs from the procedures. Every call under `/api`, of the index page and of the OpenAPI document
 * consumes the general tier; under `/api/auth` it
 * consumes the tier of its procedure first, and an unknown path the `auth` tier.
 */
export function costTable(router: AppRouter): Cost {
  const rest = new Map(listOperations(router).map(({ method, path, meta }) => [`${method} ${path}`, meta.tier]))
  const procedures = listProcedures(router)
  const tiers = (tier: Tier | undefined): Tier[] => (tier ? [tier, 'api'] : ['api'])
  return (ctx) => {
    const { path, method } = ctx
    if (path === INDEX_PATH || path === OPENAPI_PATH) return [tiers(undefined)]
    if (path !== API_PREFIX && !isUnder(path, API_PREFIX)) return []
    const names = listBatchedProcedures(path)
    if (names) return names.map((name) => tiers(procedures.get(name)?._def.meta?.tier))
    if (!isUnder(path, AUTH_PREFIX)) return [tiers(undefined)]
    return [tiers(rest.get(`${method} ${path}`) ?? 'auth')]
  }
}

/**
 * Charges a request before anything else is done, and reports on every answer how much is left. A call in the general tier
 * is charged to the API key of the request, and every other one to the address.
 */
export function rateLimit(limits: RateLimits, cost: Cost): Middleware {
  return async function chargeRequest(ctx, next) {
    const addressKey: string = ctx.state['addressKey']
    const key = findKey(ctx)
    let tightest: LimitState | undefined
    for (const { tiers, points } of groupEqual(cost(ctx))) {
      const { allowed, state } =
        key && isGeneral(tiers)
          ? await limits.chargeCallers(listCounters(key), points)
          : await limits.charge(addressKey, tiers, points)
      if (!tightest || !allowed || state.remaining < tightest.remaining) tightest = state
      setHeaders(ctx, tightest)
      if (!allowed) {
        throw new LimitExceededError('rate_limited', 'Too many requests, please try again later', state.resetSeconds)
      }
    }
    const challenge = findChallenge(ctx)
    if (challenge) throw new UnauthorizedError(undefined, undefined, challenge)
    await next()
  }
}

/** Calls of all API keys of a workspace in a minute. */
export const WORKSPACE_KEYS_MAX = CALLER_CALLS.points

/** A key has a limit of its own, and one with the other keys of its workspace, which may have any number of keys. */
function listCounters({ id, workspaceId, limitPerMinute }: KeyAccess): { key: string; limit: number }[] {
  return [
    { key: `key:${id}`, limit: limitPerMinute },
    { key: `keys:${workspaceId}`, limit: WORKSPACE_KEYS_MAX },
  ]
}

function isGeneral([first, ...others]: Tier[]): boolean {
  return first === 'api' && others.length === 0
}

/** Equal calls of a batch are charged at once: all of them, or none. */
function groupEqual(costs: Tier[][]): { tiers: Tier[]; points: number }[] {
  const groups = new Map<string, { tiers: Tier[]; points: number }>()
  for (const tiers of costs) {
    const key = tiers.join()
    const group = groups.get(key) ?? { tiers, points: 0 }
    group.points += 1
    groups.set(key, group)
  }
  return [...groups.values()]
}

function setHeaders(ctx: Context, { limit, remaining, resetSeconds }: LimitState): void {
  ctx.set('RateLimit-Limit', String(limit))
  ctx.set('RateLimit-Remaining', String(remaining))
  ctx.set('RateLimit-Reset', String(resetSeconds))
}
