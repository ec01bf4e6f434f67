import { expect } from 'chai'
import { findConsoleFiles } from '../../../src/http/console-files.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'

describe('the files of the console', () => {
  let app: TestApp

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  it('are built from the sources and served below /console, the page at every path that is no file', async () => {
    for (const path of ['/console', '/console/runs/1', '/console/no.such.page']) {
      const { status, headers, body } = await app.rest('GET', path)
      expect(status, path).to.equal(200)
      expect(headers.get('content-type')).to.equal('text/html; charset=utf-8')
      expect(headers.get('cache-control')).to.equal('no-cache')
      expect(body).to.include('<div id="root">')
    }
  })

  it('are found with a slash at the end as well', async () => {
    const { status, headers } = await app.rest('GET', '/console/')
    expect([status, headers.get('location')]).to.deep.equal([302, '/console'])
  })

  it('are kept by browsers forever if their name has the hash of their contents', async () => {
    const files = await findConsoleFiles()
    const hashed = files.filter(({ path }) => path.startsWith('assets/'))
    expect(hashed.length).to.be.greaterThan(8)
    for (const { path } of hashed) {
      const { status, headers } = await app.rest('GET', `/console/${path}`)
      expect(status, path).to.equal(200)
      expect(headers.get('cache-control')).to.equal('public, max-age=31536000, immutable')
      expect(headers.get('vary')).to.include('Accept-Encoding')
    }
    expect((await app.rest('GET', '/console/assets/index-missing.js')).status).to.equal(404)
  })

  it('may load and call this server only, and are shown in no frame', async () => {
    const { headers } = await app.rest('GET', '/console')
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy.split('; ')).to.include.members([
      `default-src 'none'`,
      `script-src 'self'`,
      `style-src 'self'`,
      `connect-src 'self'`,
      `frame-ancestors 'none'`,
    ])
    expect(policy).not.to.include('unsafe')
  })

  it('are read only: other methods are answered as unknown paths', async () => {
    expect((await app.rest('POST', '/console', { body: {} })).status).to.equal(404)
  })
})
