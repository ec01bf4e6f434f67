import { isIP } from 'node:net'
import { OutboundError } from './outbound-error.ts'
import { isCallableAddress } from './public-address.ts'

const SCHEMES = new Set(['http:', 'https:'])
/** The scheme's own port is left out of a parsed URL; the other scheme's is harmless. */
const PORTS = new Set(['', '80', '443'])
/** Names that no public server answers to. */
const PRIVATE_NAME = /^(?:[^.]*|.*\.(?:localhost|local|internal|home\.arpa))$/
const LOOPBACK_NAME = /^(?:.*\.)?localhost$/

const PRIVATE_HOST = 'names a host of a private network: only public hosts can be called'

/**
 * The URL, if it may be called as far as its text tells. What a name leads to is told when it is looked up.
 * @throws OutsideRefused
 */
export function checkUrl(text: string, { allowsLoopback }: { allowsLoopback: boolean }): URL {
  if (!URL.canParse(text)) throw new OutboundError('invalid_url', 'The URL cannot be read')
  const url = new URL(text)
  const problem = problemOf(url, allowsLoopback)
  if (problem) throw new OutboundError(problem.code, `The URL ${problem.message}`)
  return url
}

/** Why a URL can never be called, whatever its placeholders come to; undefined if it may be. */
export function urlError(
  text: string,
  { allowsLoopback }: { allowsLoopback: boolean } = { allowsLoopback: false },
): { code: 'invalid_url' | 'host_refused'; message: string } | undefined {
  const literal = literalPart(text)
  if (literal === undefined) return undefined
  if (!URL.canParse(literal)) return { code: 'invalid_url', message: 'must be a URL such as https://example.com/path' }
  return problemOf(new URL(literal), allowsLoopback)
}

/** Everything, or up to where the host ends; undefined while the host itself is a placeholder. */
function literalPart(text: string): string | undefined {
  const start = text.indexOf('{{')
  return start < 0 ? text : /^[^/\\?#]+[/\\]{2}[^/\\?#]*[/\\?#]/.exec(text.slice(0, start))?.[0]
}

function problemOf(url: URL, allowsLoopback: boolean) {
  const refuse = (code: 'invalid_url' | 'host_refused', message: string) => ({ code, message })
  if (!SCHEMES.has(url.protocol)) return refuse('invalid_url', 'must start with https:// or http://')
  if (url.username || url.password) return refuse('invalid_url', 'must not contain a user name or password')
  if (!PORTS.has(url.port) && !allowsLoopback) return refuse('invalid_url', 'must use port 80 or 443')
  return isCallableHost(url.hostname, allowsLoopback) ? undefined : refuse('host_refused', PRIVATE_HOST)
}

/** No name is looked up for an address that stands in the URL itself, so it is judged here. */
function isCallableHost(hostname: string, allowsLoopback: boolean): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
  if (isIP(host) !== 0) return isCallableAddress(host, { allowsLoopback })
  return !PRIVATE_NAME.test(host) || (allowsLoopback && LOOPBACK_NAME.test(host))
}
