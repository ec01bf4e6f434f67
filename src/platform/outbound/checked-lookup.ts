import type { LookupFunction } from 'node:net'
import { OutboundError } from './outbound-error.ts'
import { isCallableAddress } from './public-address.ts'
import type { Resolve } from './resolve-name.ts'

/**
 * Resolves and checks a name for the connection that is being made, so that it cannot resolve differently in between.
 * One forbidden address rejects all, as the caller does not control which of them is tried.
 */
export function checkedLookup(resolve: Resolve, rules: { allowsLoopback: boolean }): LookupFunction {
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
