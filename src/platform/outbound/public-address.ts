import ipaddr from 'ipaddr.js'

/** What is handed out as global unicast; whatever else IPv6 has only leads elsewhere, into IPv4 or into a private net. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/** Public by its number, and yet a cloud's own door to the machines that run in it. */
const CLOUD_DOORS = new Set(['168.63.129.16'])

/** Whether a call may go to this address: it is public and belongs to one machine, or it is this machine and that is allowed. */
export function isCallableAddress(text: string, { allowsLoopback }: { allowsLoopback: boolean }): boolean {
  const bare = text.split('%')[0] ?? ''
  if (!ipaddr.isValid(bare)) return false
  const address = ipaddr.process(bare)
  const range = address.range()
  if (range === 'loopback') return allowsLoopback
  if (range !== 'unicast' || CLOUD_DOORS.has(address.toString())) return false
  return !(address instanceof ipaddr.IPv6) || address.match(GLOBAL_UNICAST)
}
