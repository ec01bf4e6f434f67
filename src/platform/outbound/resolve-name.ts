import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { SECOND } from '../time.ts'

/** Turns a name into all its addresses. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>

const LOCALHOST: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/**
 * Asks the name servers itself. The operating system's own way blocks one of the few threads of the process until it is
 * answered, and a name server that does not answer may be any customer's.
 */
export const resolveName: Resolve = async (hostname) => {
  const name = hostname.replace(/\.$/, '').toLowerCase()
  if (name === 'localhost' || name.endsWith('.localhost')) return LOCALHOST
  const resolver = new Resolver({ timeout: 2 * SECOND, tries: 2 })
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason
  return [...addresses(four, 4), ...addresses(six, 6)]
}

function addresses(found: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return found.status === 'fulfilled' ? found.value.map((address) => ({ address, family })) : []
}
