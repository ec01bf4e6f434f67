import { expect } from 'chai'
import { addressKey, createAddressResolver } from '../../../src/platform/client-address.ts'

const PROXY = '10.0.0.1'
const OTHER_PROXY = '10.9.9.9'
const CLIENT = '203.0.113.7'
const FORGED = '198.51.100.66'

describe('createAddressResolver', () => {
  const resolve = createAddressResolver(['10.0.0.0/8', '2001:db8:1::/48'])

  const cases: [string, string, string | undefined, string][] = [
    ['returns the peer without a forwarding header', CLIENT, undefined, CLIENT],
    ['returns the peer when it is not a trusted proxy', CLIENT, FORGED, CLIENT],
    ['returns the address that the trusted proxy forwards', PROXY, CLIENT, CLIENT],
    ['ignores entries that the client wrote before the trusted proxy', PROXY, `${FORGED}, ${CLIENT}`, CLIENT],
    ['skips several trusted proxies', PROXY, `${FORGED}, ${CLIENT}, ${OTHER_PROXY}`, CLIENT],
    ['reads headers that were sent twice and joined', PROXY, `${FORGED},${CLIENT},${OTHER_PROXY}`, CLIENT],
    ['returns the outermost proxy when all entries are trusted', PROXY, OTHER_PROXY, OTHER_PROXY],
    ['stops at an invalid entry', PROXY, `${CLIENT}, junk`, PROXY],
    ['stops at an invalid entry behind a trusted proxy', PROXY, `${CLIENT}, "unknown", ${OTHER_PROXY}`, OTHER_PROXY],
    ['stops at an empty entry', PROXY, `${CLIENT}, `, PROXY],
    ['returns the peer when the header is empty', PROXY, '', PROXY],
    ['reads an address with a port', PROXY, `${FORGED}, ${CLIENT}:4711`, CLIENT],
    ['reads an address in brackets with a port', PROXY, '[2001:db8:2::1]:4711', '2001:db8:2::1'],
    ['reads an address in brackets', PROXY, '[2001:db8:2::1]', '2001:db8:2::1'],
    ['ignores an address with something else than a port', PROXY, `${CLIENT}:http`, PROXY],
    ['ignores an address in hexadecimal notation', PROXY, '0xcb.0.113.7', PROXY],
    ['ignores an address with leading zeros', PROXY, '203.0.113.007', PROXY],
    ['returns an IPv4-mapped IPv6 address as IPv4', `::ffff:${CLIENT}`, undefined, CLIENT],
    [
      'returns the forwarded IPv4-mapped address behind an IPv4-mapped proxy',
      `::ffff:${PROXY}`,
      `::ffff:${CLIENT}`,
      CLIENT,
    ],
    [
      'returns the normalized IPv6 address behind an IPv6 proxy',
      '2001:db8:1::5',
      '2001:DB8:2:0:0:0:0:1',
      '2001:db8:2::1',
    ],
    ['removes the zone of a link-local peer', 'fe80::1%eth0', undefined, 'fe80::1'],
  ]
  for (const [title, peer, forwardedFor, address] of cases) {
    it(title, () => expect(resolve(peer, forwardedFor)).to.equal(address))
  }

  it('returns the peer when no proxy is trusted', () => {
    expect(createAddressResolver([])(PROXY, CLIENT)).to.equal(PROXY)
  })

  it('trusts a network of a single address', () => {
    const single = createAddressResolver([`${PROXY}/32`])
    expect([single(PROXY, CLIENT), single('10.0.0.2', CLIENT)]).to.deep.equal([CLIENT, '10.0.0.2'])
  })
})

describe('addressKey', () => {
  it('returns an IPv4 address unchanged', () => {
    expect(addressKey(CLIENT)).to.equal(CLIENT)
  })

  it('returns the same key for all addresses of an IPv6 /64 network', () => {
    const keys = ['2001:db8:2:3::1', '2001:db8:2:3:ffff:ffff:ffff:ffff', '2001:0DB8:0002:0003::'].map(addressKey)
    expect(new Set(keys).size).to.equal(1)
  })

  it('returns different keys for neighbouring IPv6 /64 networks', () => {
    expect(addressKey('2001:db8:2:3::1')).to.not.equal(addressKey('2001:db8:2:4::1'))
  })
})
