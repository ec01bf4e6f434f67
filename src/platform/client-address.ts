import { BlockList, isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Finds the address a request came from. `X-Forwarded-For` is read from the right, as each proxy appended to it, for as
 * long as the one who wrote is trusted; what stands further left anybody may have written.
 */
export function createAddressResolver(
  trustedProxies: string[],
): (peer: string, forwardedFor: string | undefined) => string {
  const trusted = new BlockList()
  for (const cidr of trustedProxies) {
    const [address = '', bits] = cidr.split('/')
    trusted.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  const isTrusted = (address: string) => trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  return (peer, forwardedFor) => {
    let address = normalize(peer) ?? peer
    for (const hop of (forwardedFor ?? '').split(',').reverse()) {
      const next = isTrusted(address) ? normalize(hop) : undefined
      if (next === undefined) break
      address = next
    }
    return address
  }
}

/** The one spelling of an address, IPv4 for an IPv4 one mapped into IPv6; undefined for what is none. */
function normalize(text: string): string | undefined {
  const address = text.trim()
  return isIP(address) === 0 ? undefined : ipaddr.process(address.split('%')[0] as string).toString()
}

/** Whoever has one IPv6 address has 2^64 of them, so they count as one. */
export function addressKey(address: string): string {
  if (isIP(address) !== 6) return address
  const parsed = ipaddr.parse(address) as ipaddr.IPv6
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
