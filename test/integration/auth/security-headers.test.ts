import { expect } from 'chai'
import { request } from 'undici'
import { startTestApp, type TestApp } from '../../support/app.ts'

describe('protection of browsers', () => {
  let app: TestApp

  before(async () => {
    app = await startTestApp({ PUBLIC_HOSTS: 'parley.example.com' })
  })

  after(() => app.stop())

  it('answers of the API are neither stored, sniffed nor named as referrer', async () => {
    const { headers } = await app.rest('GET', '/api/auth/get-session')
    expect(headers.get('cache-control')).to.equal('no-store')
    expect(headers.get('x-content-type-options')).to.equal('nosniff')
    expect(headers.get('referrer-policy')).to.equal('no-referrer')
    expect(headers.get('strict-transport-security')).to.equal(null)
  })

  it('native answers and errors are not stored either', async () => {
    for (const path of ['/api/trpc/auth.getSession', '/trpc/auth.getSession', '/trpc/contacts.list', '/api/nothing']) {
      expect((await app.rest('GET', path)).headers.get('cache-control'), path).to.equal('no-store')
    }
  })

  it('answers to https behind a trusted proxy ask for https from then on', async () => {
    const headers = { 'x-forwarded-proto': 'https' }
    const { headers: answered } = await app.rest('GET', '/api/auth/get-session', { headers })
    expect(answered.get('strict-transport-security')).to.match(/^max-age=\d+$/)
  })

  it('calls of the API under a foreign host name are rejected with host_not_allowed', async () => {
    const call = async (host: string, path = '/api/auth/get-session') => {
      const { statusCode, body } = await request(`${app.url}${path}`, { headers: { host } })
      return { statusCode, body: await body.text() }
    }
    const rejected = await call('rebound.example:3000')
    expect(rejected.statusCode).to.equal(400)
    expect(rejected.body).to.include('host_not_allowed')
    for (const path of ['/trpc/auth.getSession', '/api/trpc/auth.getSession'])
      expect((await call('rebound.example:3000', path)).statusCode, path).to.equal(400)
    expect((await call('parley.example.com')).statusCode).to.equal(200)
    expect((await call('localhost:1')).statusCode).to.equal(200)
  })

  it('names of users with line breaks or control characters are rejected', async () => {
    for (const name of ['Ada\r\nBcc: x@y.example', 'Ada\u001b[2J', 'Ada\u2028x']) {
      const body = { name, email: 'ada-line@parley.example', password: 'correct horse battery' }
      const { status, body: error } = await app.rest('POST', '/api/auth/sign-up/email', { body })
      expect(status).to.equal(400)
      expect(error.error).to.include('line breaks')
    }
  })
})
