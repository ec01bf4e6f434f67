import ipaddr from 'ipaddr.js'

/** The range of IPv6 that is allocated as global unicast. Other ranges lead into IPv4 or private networks. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/** Public addresses at which a cloud serves its own virtual machines. */
const CLOUD_SERVICES = new Set(['168.63.129.16'])

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
