import type { Context, Middleware } from 'koa'
import type { AppRouter } from '../router.ts'
import { LimitExceededError } from '../platform/errors.ts'
import type { LimitState, RateLimits } from '../platform/rate-limit/rate-limits.ts'
import type { Tier } from '../platform/rate-limit/tiers.ts'
import { listBatchedProcedures } from './trpc-endpoint.ts'
import { listOperations, listProcedures } from './rest.ts'

/** What a request costs, by its method and path. */
export type Cost = (ctx: Context) => Tier[][]

/**
 * The table of prices comes from the procedures themselves. Every call under `/api` pays the general tier; below
 * `/api/auth` it pays the tier of its procedure first, and a path that is none pays the tier of "all other".
 */
export function costTable(router: AppRouter): Cost {
  const rest = new Map(listOperations(router).map(({ method, path, meta }) => [`${method} ${path}`, meta.tier]))
  const procedures = listProcedures(router)
  const tiers = (tier: Tier | undefined): Tier[] => (tier ? [tier, 'api'] : ['api'])
  return (ctx) => {
    const { path, method } = ctx
    if (!path.startsWith('/api/') && path !== '/api') return []
    const names = listBatchedProcedures(path)
    if (names) return names.map((name) => tiers(procedures[name]?._def.meta?.tier))
    if (!path.startsWith('/api/auth/')) return [tiers(undefined)]
    return [tiers(rest.get(`${method} ${path}`) ?? 'auth')]
  }
}

/** Charges before anything else is done, and tells on every answer what is left. */
export function rateLimit(limits: RateLimits, price: Cost): Middleware {
  return async function charge(ctx, next) {
    const addressKey = ctx.state['addressKey'] as string
    let tightest: LimitState | undefined
    for (const { tiers, points } of joinEqual(price(ctx))) {
      const { allowed, state } = await limits.charge(addressKey, tiers, points)
      if (!tightest || !allowed || state.remaining < tightest.remaining) tightest = state
      setHeaders(ctx, tightest)
      if (!allowed) {
        throw new LimitExceededError('rate_limited', 'Too many requests, please try again later', state.resetSeconds)
      }
    }
    await next()
  }
}

/** A batch of equal calls is bought at once: all of it, or none. */
function joinEqual(prices: Tier[][]): { tiers: Tier[]; points: number }[] {
  const joined = new Map<string, { tiers: Tier[]; points: number }>()
  for (const tiers of prices) {
    const key = tiers.join()
    const entry = joined.get(key) ?? { tiers, points: 0 }
    entry.points += 1
    joined.set(key, entry)
  }
  return [...joined.values()]
}

function setHeaders(ctx: Context, { limit, remaining, resetSeconds }: LimitState): void {
  ctx.set('RateLimit-Limit', String(limit))
  ctx.set('RateLimit-Remaining', String(remaining))
  ctx.set('RateLimit-Reset', String(resetSeconds))
}
