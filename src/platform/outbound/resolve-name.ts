import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { SECOND } from '../time.ts'

/** Resolves a name to all its addresses. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>

const LOCALHOST: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/**
 * Resolves with DNS queries of its own. The operating system's resolver would block one of the few threads of the
 * process, and any customer may operate a name server that does not answer.
 */
export const resolveName: Resolve = async (hostname) => {
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
