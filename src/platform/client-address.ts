import { BlockList, isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

/** Addresses of peers are checked for every request, and there are few of them. */
const KNOWN_MAX = 1000

/** Builds the check whether an address is in one of the networks, given as CIDRs. */
export function createNetworkCheck(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const cidr of networks) {
    const [address = '', bits] = cidr.split('/')
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return (text) => {
    const address = normalize(text)
    return address !== undefined && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
}

/** Returns the CIDR of a network or single address; undefined for other texts. */
export function parseNetwork(text: string): string | undefined {
  const [address = '', bits, ...others] = text.split('/')
  const normalized = normalize(address)
  if (normalized === undefined || others.length > 0) return undefined
  const bitsMax = isIP(normalized) === 6 ? 128 : 32
  if (bits === undefined) return `${normalized}/${bitsMax}`
  return /^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax ? `${normalized}/${Number(bits)}` : undefined
}

/** Builds the check whether an address is that of a trusted proxy, given as CIDRs. */
export function createProxyCheck(trustedProxies: string[]): (address: string) => boolean {
  const check = createNetworkCheck(trustedProxies)
  const known = new LRUCache<string, boolean>({ max: KNOWN_MAX })
  return (text) => {
    const result = known.get(text)
    if (result !== undefined) return result
    const checked = check(text)
    known.set(text, checked)
    return checked
  }
}

/**
 * Finds the address a request came from. `X-Forwarded-For` is read from the right, in the order in which proxies append
 * to it, and only as far as trusted proxies wrote it; entries further left can be forged.
 */
export function createAddressResolver(
  trustedProxies: string[],
): (peer: string, forwardedFor: string | undefined) => string {
  const isTrusted = createProxyCheck(trustedProxies)
  return (peer, forwardedFor) => {
    let address = normalize(peer) ?? peer
    for (const hop of (forwardedFor ?? '').split(',').reverse()) {
      const next = isTrusted(address) ? normalize(withoutPort(hop.trim())) : undefined
      if (next === undefined) break
      address = next
    }
    return address
  }
}

/** Some proxies append the port: `192.0.2.1:5678`, `[2001:db8::1]:5678`. */
function withoutPort(hop: string): string {
  return /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(hop)?.[1] ?? /^\[([0-9a-f:.]+)\](?::\d{1,5})?$/i.exec(hop)?.[1] ?? hop
}

/** Returns the canonical form of an address, IPv4 for one mapped into IPv6; undefined for other texts. */
function normalize(text: string): string | undefined {
  const address = text.trim()
  const version = isIP(address)
  // Only one spelling of an IPv4 address is valid.
  if (version === 4) return address
  return version === 0 ? undefined : ipaddr.process(address.split('%')[0] ?? address).toString()
}

/** Returns the key that limits count by. An IPv6 client usually has a whole /64 network, which counts as one. */
export function addressKey(address: string): string {
  if (isIP(address) !== 6) return address
  const parsed = ipaddr.IPv6.parse(address)
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}

/** Returns the IPv6 network of `bits` bits, 48 or 56, that contains the /64 network of a key; undefined for IPv4. */
export function widerNetwork(key: string, bits: number): string | undefined {
  if (!key.endsWith('::/64')) return undefined
  const groups = key.slice(0, -'::/64'.length).split(':')
  const rest = bits === 56 ? [(Number.parseInt(groups[3] ?? '0', 16) & 0xff00).toString(16)] : []
  return `${[...groups.slice(0, 3), ...rest].join(':')}::/${bits}`
}

/** Returns the key of all addresses that one client may have: a /48 network of IPv6, an address of IPv4. */
export function clientNetwork(key: string): string {
  return widerNetwork(key, 48) ?? key
}

/** Returns the network of an address that may be logged: a /24 of IPv4, a /48 of IPv6. It identifies no person. */
export function loggableNetwork(key: string): string {
  return widerNetwork(key, 48) ?? key.replace(/\.\d+$/, '.0/24')
}
