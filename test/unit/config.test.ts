import { expect } from 'chai'
import { loadConfig } from '../../src/config.ts'
import { ConfigError } from '../../src/platform/process/config-error.ts'

describe('loadConfig', () => {
  it('returns defaults for an empty environment', () => {
    const config = loadConfig({})
    expect(config.http).to.deep.equal({
      host: '127.0.0.1',
      port: 3000,
      trustedProxies: [],
      appOrigins: [],
      publicHosts: [],
      loopLagMaxMs: 1000,
      drainDelayMs: 0,
    })
    expect(config.database.url).to.equal(undefined)
    expect(config.roles).to.deep.equal(['http', 'worker'])
  })

  it('treats an empty variable as not set', () => {
    expect(loadConfig({ REDIS_URL: '', DATABASE_URL: '', PORT: '' })).to.deep.include({ redisUrl: undefined })
  })

  it('reports all invalid variables at once', () => {
    const environment = {
      PORT: '99999',
      DATABASE_URL: 'mysql://x',
      APP_ORIGINS: 'app.example.com',
      TRUSTED_PROXIES: '10.0.0.1',
      ROLES: 'htpp',
    }
    const problems = (() => {
      try {
        loadConfig(environment)
        return []
      } catch (error) {
        return (error as ConfigError).problems
      }
    })()
    expect(problems.map((problem) => problem.split(':')[0])).to.have.members([
      ...Object.keys(environment),
      'SECRET_KEY',
    ])
  })

  it('converts megabytes to bytes, and a quota of 0 to none', () => {
    const { quotas, diskFreeBytesMin } = loadConfig({})
    expect(quotas).to.deep.equal({ mediaBytes: 20 * 1024 ** 3, webhookBytes: 4 * 1024 ** 3 })
    expect(diskFreeBytesMin).to.equal(undefined)
    const changed = loadConfig({ MEDIA_QUOTA_MB: '0', WEBHOOK_QUOTA_MB: '1', DISK_FREE_MIN_MB: '0' })
    expect(changed.quotas).to.deep.equal({ mediaBytes: Infinity, webhookBytes: 1024 ** 2 })
    expect(changed.diskFreeBytesMin).to.equal(0)
  })

  for (const [name, value] of [
    ['REDIS_URL', 'redis://'],
    ['REDIS_URL', 'redis://redis:99999'],
    ['SMTP_URL', 'smtp://'],
  ] as const)
    it(`names ${name} if it is ${value}`, () => {
      expect(() => loadConfig({ [name]: value })).to.throw(ConfigError, `${name}: must be a URL such as`)
    })

  for (const [name, message] of [
    ['ROLES', 'must be http, worker or both, separated by a comma'],
    ['TRUSTED_PROXIES', 'must be CIDRs such as 10.0.0.0/8'],
    ['APP_ORIGINS', 'must be origins such as https://app.example.com'],
    ['PUBLIC_HOSTS', 'must be host names such as parley.example.com, without ports'],
  ] as const)
    it(`names ${name} if it is a list without items`, () => {
      expect(() => loadConfig({ [name]: ' , ' })).to.throw(ConfigError, `${name}: ${message}`)
    })

  for (const value of ['api-key=100%', 'api-key=100%zz', 'api-key=%ff'])
    it(`names OTEL_EXPORTER_OTLP_HEADERS if it is ${value}`, () => {
      const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318', OTEL_EXPORTER_OTLP_HEADERS: value }
      const message = 'OTEL_EXPORTER_OTLP_HEADERS: must be URL-encoded'
      expect(() => loadConfig(environment)).to.throw(ConfigError, message)
    })

  it('requires SECRET_KEY with DATABASE_URL, because all processes must share it', () => {
    const environment = { DATABASE_URL: 'postgres://localhost/parley' }
    expect(() => loadConfig(environment)).to.throw(ConfigError, 'SECRET_KEY')
    expect(loadConfig({ ...environment, SECRET_KEY: 'ab'.repeat(32) }).secretKeys).to.deep.equal(['ab'.repeat(32)])
  })

  it('takes several keys in SECRET_KEYS, each once, and not together with SECRET_KEY', () => {
    const [present, former] = ['cd'.repeat(32), 'ab'.repeat(32)]
    const environment = { DATABASE_URL: 'postgres://localhost/parley' }
    const load = (variables: object) => loadConfig({ ...environment, ...variables }).secretKeys
    expect(load({ SECRET_KEYS: `${present}, ${former}` })).to.deep.equal([present, former])
    const wrong = 'SECRET_KEYS: must be keys of 64 hexadecimal digits, separated by commas, the one that encrypts first'
    expect(() => load({ SECRET_KEYS: `${present},${former.slice(1)}` })).to.throw(ConfigError, wrong)
    expect(() => load({ SECRET_KEYS: `${present},${present.toUpperCase()}` })).to.throw(ConfigError, 'repeat a key')
    const both = { SECRET_KEY: former, SECRET_KEYS: present }
    expect(() => load(both)).to.throw(ConfigError, 'SECRET_KEY, SECRET_KEYS: set one of them')
  })
})
