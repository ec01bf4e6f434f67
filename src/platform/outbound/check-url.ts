import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { InvalidError } from '../errors.ts'
import { OutboundError } from './outbound-error.ts'

const SCHEMES = new Set(['http:', 'https:'])
/** A parsed URL omits the default port of its scheme; the other scheme's is harmless. */
const PORTS = new Set(['', '80', '443'])
/** Names that no public server has. */
const PRIVATE_NAME = /^(?:[^.]*|.*\.(?:localhost|local|internal|home\.arpa))$/
const LOOPBACK_NAME = /^(?:.*\.)?localhost$/

const PRIVATE_HOST = 'names a host of a private network. Only public hosts can be called'

/** The range of IPv6 that is allocated as global unicast. Other ranges lead into IPv4 or private networks. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/** Public addresses at which a cloud serves its own virtual machines. */
const CLOUD_SERVICES = new Set(['168.63.129.16'])

/**
 * Parses a URL and checks everything that its text alone determines. The addresses of a name are checked on lookup.
 * @throws OutboundError
 */
export function checkUrl(text: string, { allowsLoopback }: { allowsLoopback: boolean }): URL {
  if (!URL.canParse(text)) throw new OutboundError('invalid_url', 'The URL is not valid')
  const url = new URL(text)
  const problem = findProblem(url, allowsLoopback)
  if (problem) throw new OutboundError(problem.code, `The URL ${problem.message}`)
  return url
}

/** Returns the reason why a URL can never be called, whatever the values of its placeholders; undefined if it can be. */
export function urlError(
  text: string,
  { allowsLoopback }: { allowsLoopback: boolean } = { allowsLoopback: false },
): UrlProblem | undefined {
  const literal = parseLiteralPart(text)
  if (literal === undefined) return undefined
  if (!URL.canParse(literal)) return { code: 'invalid_url', message: 'must be a URL such as https://example.com/path' }
  return findProblem(new URL(literal), allowsLoopback)
}

/**
 * Parses a URL that is to be called later, and checks everything that its text alone determines.
 * @throws InvalidError that names the input at `path`
 */
export function assertCallable(text: string, path: string, rules: { allowsLoopback: boolean }): URL {
  try {
    return checkUrl(text, rules)
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const message = error.message.replace(/^The URL /, '')
    throw new InvalidError(`${path} ${message}`, [{ path, message }], undefined, { cause: error })
  }
}

/** Returns true for a public unicast address, and for loopback if allowed. */
export function isCallableAddress(text: string, { allowsLoopback }: { allowsLoopback: boolean }): boolean {
  const unzoned = text.split('%')[0] ?? ''
  if (!ipaddr.isValid(unzoned)) return false
  const address = ipaddr.process(unzoned)
  const range = address.range()
  if (range === 'loopback') return allowsLoopback
  if (range !== 'unicast' || CLOUD_SERVICES.has(address.toString())) return false
  return !(address instanceof ipaddr.IPv6) || address.match(GLOBAL_UNICAST)
}

/** Returns the text up to the first placeholder; undefined if the host itself contains one. */
function parseLiteralPart(text: string): string | undefined {
  const start = text.indexOf('{{')
  return start < 0 ? text : /^[^/\\?#]+[/\\]{2}[^/\\?#]*[/\\?#]/.exec(text.slice(0, start))?.[0]
}

type UrlProblem = { code: 'invalid_url' | 'host_refused'; message: string }

function findProblem(url: URL, allowsLoopback: boolean): UrlProblem | undefined {
  const invalid = (message: string): UrlProblem => ({ code: 'invalid_url', message })
  if (!SCHEMES.has(url.protocol)) return invalid('must start with https:// or http://')
  if (url.username || url.password) return invalid('must not contain a user name or password')
  if (!PORTS.has(url.port) && !allowsLoopback)
    return invalid(
      'must use port 80 or 443. For services on this machine start Parley with ALLOW_LOOPBACK_CHANNELS=true, for tests only',
    )
  return isCallableHost(url.hostname, allowsLoopback) ? undefined : { code: 'host_refused', message: PRIVATE_HOST }
}

/** An address in the URL itself needs no lookup, so it is checked here. */
function isCallableHost(hostname: string, allowsLoopback: boolean): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
  if (isIP(host) !== 0) return isCallableAddress(host, { allowsLoopback })
  return !PRIVATE_NAME.test(host) || (allowsLoopback && LOOPBACK_NAME.test(host))
}
