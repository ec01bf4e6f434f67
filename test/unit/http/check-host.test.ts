import { expect } from 'chai'
import { createHostCheck, listCrossSiteOrigins, listOwnOrigins } from '../../../src/http/security/check-host.ts'

const LOCAL = {
  host: '127.0.0.1',
  publicHosts: [] as string[],
  trustedProxies: [] as string[],
  appOrigins: ['https://app.example.com'],
}

describe('host check', () => {
  const cases: [string, Partial<typeof LOCAL>, string, boolean][] = [
    ['rejects a foreign name on a loopback address', {}, 'rebound.example', false],
    ['allows localhost', {}, 'localhost', true],
    ['allows an address', {}, '127.0.0.1', true],
    ['allows the host of an app origin', {}, 'app.example.com', true],
    ['allows any name when the server is reachable from other machines', { host: '0.0.0.0' }, 'any.example', true],
    ['allows any name behind a trusted proxy', { trustedProxies: ['127.0.0.1/32'] }, 'any.example', true],
  ]
  for (const [title, settings, name, isAllowed] of cases) {
    it(title, () => {
      expect(createHostCheck({ ...LOCAL, ...settings })(name)).to.equal(isAllowed)
    })
  }

  it('allows only the names of PUBLIC_HOSTS, localhost and addresses when it is set', () => {
    const publicHosts = ['parley.example.com']
    const isAllowed = createHostCheck({ ...LOCAL, host: '0.0.0.0', publicHosts })
    expect(['parley.example.com', 'localhost', '::1', 'other.example'].map(isAllowed)).to.deep.equal([
      true,
      true,
      true,
      false,
    ])
  })
})

describe('origins on another site', () => {
  const appOrigins = [
    'https://app.example.com',
    'https://example.com',
    'https://app.other.example',
    'https://example.com.evil.example',
    'http://localhost:5173',
    'http://[::1]:5173',
  ]

  it('are those whose domain no name of PUBLIC_HOSTS has', () => {
    const publicHosts = ['parley.example.com']
    expect(listCrossSiteOrigins({ publicHosts, appOrigins })).to.deep.equal([
      'https://app.other.example',
      'https://example.com.evil.example',
    ])
  })

  it('are unknown without PUBLIC_HOSTS', () => {
    expect(listCrossSiteOrigins({ publicHosts: [], appOrigins })).to.deep.equal([])
  })
})

describe('origins of the server', () => {
  const cases: [string, Partial<typeof LOCAL>, string[]][] = [
    ['are localhost and the address on a loopback address', {}, ['http://localhost:3000', 'http://127.0.0.1:3000']],
    ['are the address that the server listens on', { host: 'fd00::7' }, ['http://[fd00::7]:3000']],
    ['are unknown on all addresses without PUBLIC_HOSTS', { host: '0.0.0.0' }, []],
    [
      'are those of PUBLIC_HOSTS with its port without a proxy',
      { host: '0.0.0.0', publicHosts: ['parley.lan', '1.2.3.4.5'] },
      ['http://parley.lan:3000'],
    ],
    [
      'are those of PUBLIC_HOSTS with TLS behind a proxy',
      { publicHosts: ['parley.example.com'], trustedProxies: ['127.0.0.1/32'] },
      ['https://parley.example.com'],
    ],
    ['are unknown behind a proxy without PUBLIC_HOSTS', { trustedProxies: ['127.0.0.1/32'] }, []],
  ]
  for (const [title, settings, origins] of cases) {
    it(title, () => {
      expect(listOwnOrigins({ ...LOCAL, ...settings }, 3000)).to.deep.equal(origins)
    })
  }
})
