import { expect } from 'chai'
import { addressKey, createAddressResolver } from '../../../src/platform/client-address.ts'

const PROXY = '10.0.0.1'
const OTHER_PROXY = '10.9.9.9'
const CLIENT = '203.0.113.7'
const FORGED = '198.51.100.66'

describe('the address of a client', () => {
  const resolve = createAddressResolver(['10.0.0.0/8', '2001:db8:1::/48'])

  const cases: [string, string, string | undefined, string][] = [
    ['is the peer without a forwarding header', CLIENT, undefined, CLIENT],
    ['is the peer when a stranger claims to forward', CLIENT, FORGED, CLIENT],
    ['is what the trusted proxy saw', PROXY, CLIENT, CLIENT],
    ['is not what the client wrote before the proxy did', PROXY, `${FORGED}, ${CLIENT}`, CLIENT],
    ['is found behind a row of trusted proxies', PROXY, `${FORGED}, ${CLIENT}, ${OTHER_PROXY}`, CLIENT],
    ['is read through headers sent twice, as they are joined', PROXY, `${FORGED},${CLIENT},${OTHER_PROXY}`, CLIENT],
    ['is the outermost proxy when all are trusted', PROXY, OTHER_PROXY, OTHER_PROXY],
    ['stops before junk', PROXY, `${CLIENT}, junk`, PROXY],
    ['stops before junk further left', PROXY, `${CLIENT}, "unknown", ${OTHER_PROXY}`, OTHER_PROXY],
    ['stops before an empty entry', PROXY, `${CLIENT}, `, PROXY],
    ['is the peer when the header is empty', PROXY, '', PROXY],
    ['is not read out of an address with a port', PROXY, `${CLIENT}:4711`, PROXY],
    ['is not read out of an address in brackets', PROXY, '[2001:db8:2::1]:4711', PROXY],
    ['is not read out of numbers that only look like one', PROXY, '0xcb.0.113.7', PROXY],
    ['is not read out of an address with leading zeros', PROXY, '203.0.113.007', PROXY],
    ['is the IPv4 one of an IPv4 address mapped into IPv6', `::ffff:${CLIENT}`, undefined, CLIENT],
    ['is found behind a mapped proxy', `::ffff:${PROXY}`, `::ffff:${CLIENT}`, CLIENT],
    ['is found behind an IPv6 proxy', '2001:db8:1::5', '2001:DB8:2:0:0:0:0:1', '2001:db8:2::1'],
    ['leaves out the zone of a link-local peer', 'fe80::1%eth0', undefined, 'fe80::1'],
  ]
  for (const [rule, peer, forwardedFor, address] of cases) {
    it(rule, () => expect(resolve(peer, forwardedFor)).to.equal(address))
  }

  it('is always the peer where no proxy is trusted', () => {
    expect(createAddressResolver([])(PROXY, CLIENT)).to.equal(PROXY)
  })

  it('trusts a single address as it trusts a network', () => {
    const single = createAddressResolver([`${PROXY}/32`])
    expect([single(PROXY, CLIENT), single('10.0.0.2', CLIENT)]).to.deep.equal([CLIENT, '10.0.0.2'])
  })
})

describe('what an address counts as', () => {
  it('is itself for IPv4', () => {
    expect(addressKey(CLIENT)).to.equal(CLIENT)
  })

  it('is one for all of an IPv6 network of 64 bits', () => {
    const keys = ['2001:db8:2:3::1', '2001:db8:2:3:ffff:ffff:ffff:ffff', '2001:0DB8:0002:0003::'].map(addressKey)
    expect(new Set(keys).size).to.equal(1)
  })

  it('differs between neighbouring IPv6 networks', () => {
    expect(addressKey('2001:db8:2:3::1')).to.not.equal(addressKey('2001:db8:2:4::1'))
  })
})
