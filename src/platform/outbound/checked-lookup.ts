import type { LookupFunction } from 'node:net'
import { OutboundError } from './outbound-error.ts'
import { isCallableAddress } from './public-address.ts'
import type { Resolve } from './resolve-name.ts'

/**
 * Looks a name up for the connection that is being made. What is judged is what is connected to, so a name cannot answer
 * differently in between; and one wrong address spoils the rest, because which of them is tried is not ours to say.
 */
export function checkedLookup(resolve: Resolve, rules: { allowsLoopback: boolean }): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses
        if (!first || !addresses.every(({ address }) => isCallableAddress(address, rules))) callback(REFUSED(), '', 0)
        else if (options.all) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    )
  }
}

const REFUSED = () =>
  new OutboundError('host_refused', 'The host leads into a private network: only public hosts can be called')
