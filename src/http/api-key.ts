import type { Context, Middleware } from 'koa'
import type { Challenge } from '../platform/errors.ts'
import type { KeyAccess } from '../trpc/caller.ts'
import { isApi } from './paths.ts'

/** Finds the API key with a secret, or returns the reason why it is not accepted. */
export type IdentifyKey = (claim: { secret: string; ipAddress: string }) => Promise<KeyAccess | Challenge>

/** Finds the API key of a request to the API. Who sends one has no session, also if the key is not accepted. */
export function identifyApiKey(identify: IdentifyKey): Middleware {
  return function identifyKey(ctx, next) {
    const secret = readBearer(ctx)
    if (secret === undefined || !isApi(ctx.path)) return next()
    return identify({ secret, ipAddress: ctx.state['ipAddress'] }).then((found) => {
      ctx.state['apiKey'] = found
      return next()
    })
  }
}

function readBearer(ctx: Context): string | undefined {
  return /^bearer(?: +(.*))?$/i.exec(ctx.get('authorization'))?.slice(1).join('')
}

/** The API key of a request; undefined without one that is accepted. */
export function findKey(ctx: Context): KeyAccess | undefined {
  const found: KeyAccess | Challenge | undefined = ctx.state['apiKey']
  return found && 'id' in found ? found : undefined
}

/** The reason why the API key of a request is not accepted; undefined if it is, and without one. */
export function findChallenge(ctx: Context): Challenge | undefined {
  const found: KeyAccess | Challenge | undefined = ctx.state['apiKey']
  return found && 'error' in found ? found : undefined
}
