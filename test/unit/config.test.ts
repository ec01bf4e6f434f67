import { expect } from 'chai'
import { ConfigError, loadConfig } from '../../src/config.ts'

describe('the configuration', () => {
  it('needs nothing', () => {
    const config = loadConfig({})
    expect(config.http).to.deep.equal({ host: '127.0.0.1', port: 3000, trustedProxies: [], appOrigins: [] })
    expect(config.database.url).to.equal(undefined)
    expect(config.roles).to.deep.equal(['http', 'worker'])
  })

  it('takes an empty variable for one that is not set', () => {
    expect(loadConfig({ REDIS_URL: '', DATABASE_URL: '', PORT: '' })).to.deep.include({ redisUrl: undefined })
  })

  it('tells everything that is wrong with it at once', () => {
    const wrong = {
      PORT: '99999',
      DATABASE_URL: 'mysql://x',
      APP_ORIGINS: 'app.example.com',
      TRUSTED_PROXIES: '10.0.0.1',
      ROLES: 'htpp',
    }
    const problems = (() => {
      try {
        loadConfig(wrong)
        return []
      } catch (error) {
        return (error as ConfigError).problems
      }
    })()
    expect(problems.map((problem) => problem.split(':')[0])).to.have.members([...Object.keys(wrong), 'SECRET_KEY'])
  })

  it('needs a secret key with a database of its own, because every process has to have the same', () => {
    const given = { DATABASE_URL: 'postgres://localhost/parley' }
    expect(() => loadConfig(given)).to.throw(ConfigError, 'SECRET_KEY')
    expect(loadConfig({ ...given, SECRET_KEY: 'ab'.repeat(32) }).secretKey).to.equal('ab'.repeat(32))
  })
})
