import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { Agent } from 'undici'
import { SECOND } from '../time.ts'
import { isCallableAddress } from './check-url.ts'
import { OutboundError } from './outbound-error.ts'

type AgentOptions = {
  /** True if loopback addresses may be called. */
  allowsLoopback: boolean
  connectTimeoutMs: number
  resolve?: Resolve | undefined
}

/** Resolves a name to all its addresses. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>

const LOCALHOST: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/**
 * Creates an HTTP agent that connects to public hosts only. The addresses of a name are checked when a connection is
 * made. The caller bounds the time of its requests.
 */
export function createPublicAgent({ allowsLoopback, connectTimeoutMs, resolve = resolveName }: AgentOptions): Agent {
  return new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { lookup: checkedLookup(resolve, { allowsLoopback }), timeout: connectTimeoutMs },
  })
}

/**
 * Resolves with DNS queries of its own. The operating system's resolver would block one of the few threads of the
 * process, and any customer may operate a name server that does not answer.
 */
const resolveName: Resolve = async (hostname) => {
  const name = hostname.replace(/\.$/, '').toLowerCase()
  if (name === 'localhost' || name.endsWith('.localhost')) return LOCALHOST
  const resolver = new Resolver({ timeout: 2 * SECOND, tries: 2 })
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason
  return [...toAddresses(four, 4), ...toAddresses(six, 6)]
}

function toAddresses(result: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : []
}

/**
 * Resolves and checks a name for the connection that is being made, so that it cannot resolve differently in between.
 * One forbidden address rejects all, as the caller does not control which of them is tried.
 */
function checkedLookup(resolve: Resolve, rules: { allowsLoopback: boolean }): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses
        const areCallable = addresses.every(({ address }) => isCallableAddress(address, rules))
        if (!first || !areCallable) callback(privateHostError(), '', 0)
        else if (options.all) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    )
  }
}

function privateHostError(): OutboundError {
  return new OutboundError(
    'host_refused',
    'The host resolves to a private network address. Only public hosts can be called',
  )
}
