import { isIP } from 'node:net'
import type { Middleware } from 'koa'
import { InvalidError } from '../../platform/errors.ts'
import { count, metrics } from '../../platform/metrics.ts'
import { isApi } from '../paths.ts'

/** Returns true if the API may be called under this name, which is in lower case and has no port. */
export type IsHostAllowed = (name: string) => boolean

type HostSettings = { host: string; publicHosts: string[]; trustedProxies: string[]; appOrigins: string[] }

/**
 * Builds the check of names. Addresses and localhost are always allowed, as no page can make a browser resolve them to
 * another machine. Without configured names every name is allowed, unless the server is reachable from its own machine
 * only: there a foreign name means that a page has rebound its name to this address.
 */
export function createHostCheck({ host, publicHosts, trustedProxies, appOrigins }: HostSettings): IsHostAllowed {
  if (publicHosts.length === 0 && (!isLoopback(host) || trustedProxies.length > 0)) return () => true
  const names = new Set([...publicHosts, ...appOrigins.map((origin) => new URL(origin).hostname)])
  return (name) => isLocal(name) || names.has(name)
}

/**
 * Lists the origins of web applications on another site than every public name, to which browsers send no session cookie.
 * Names that differ in their last two labels have no domain in common. A local application may call a local name.
 */
export function listCrossSiteOrigins({ publicHosts, appOrigins }: Pick<HostSettings, 'publicHosts' | 'appOrigins'>) {
  const toDomain = (name: string) => name.split('.').slice(-2).join('.')
  const domains = new Set(publicHosts.map(toDomain))
  return appOrigins.filter((origin) => {
    const name = hostname(new URL(origin).host)
    return domains.size > 0 && !isLocal(name) && !domains.has(toDomain(name))
  })
}

/**
 * Lists the origins of this server as far as its settings tell them. The name in a request tells nothing, as its sender
 * chooses it. Behind a proxy the server has its public names only, with TLS; without one it speaks plain HTTP itself.
 */
export function listOwnOrigins(
  { host, publicHosts, trustedProxies }: Omit<HostSettings, 'appOrigins'>,
  port: number,
): string[] {
  if (trustedProxies.length > 0) return publicHosts.map((name) => `https://${name}`)
  const isAnyAddress = host === '::' || host === '0.0.0.0'
  const names = [...publicHosts, ...(isLoopback(host) ? ['localhost'] : []), ...(isAnyAddress ? [] : [host])]
  const origins = names.map((name) => toOrigin(name, port))
  return origins.flatMap((origin) => (URL.canParse(origin) ? new URL(origin).origin : []))
}

export function toOrigin(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Rejects calls of the API under foreign names, with which a page could pass the check of its origin. */
export function checkHost(isAllowed: IsHostAllowed): Middleware {
  return function assertHost(ctx, next) {
    if (isApi(ctx.path) && !isAllowed(hostname(ctx.get('host')))) {
      count(metrics.httpRejected, { reason: 'host' })
      throw new InvalidError(
        'The server does not serve the API under this host name. Add the name to PUBLIC_HOSTS',
        undefined,
        'host_not_allowed',
      )
    }
    return next()
  }
}

function isLoopback(host: string): boolean {
  return host === '::1' || host === 'localhost' || host.startsWith('127.')
}

function isLocal(name: string): boolean {
  return isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost')
}

function hostname(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
}
