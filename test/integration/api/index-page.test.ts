import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { ROOT } from '../../support/documents.ts'

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

describe('GET /', () => {
  let app: TestApp

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  it('GET / returns a page with the version of package.json and links that work', async () => {
    const { status, headers, body } = await app.rest('GET', '/', { headers: BROWSER })
    expect(status).to.equal(200)
    expect(headers.get('content-type')).to.equal('text/html; charset=utf-8')
    expect(body).to.include(`<h1>Parley ${version}</h1>`)
    const links = [...String(body).matchAll(/href="([^"]*)"/g)].map(([, link = '']) => link)
    expect(links).to.include.members(['/docs', '/openapi.json'])
    for (const link of links) expect((await app.rest('GET', link)).status, link).to.equal(200)
  })

  it('GET / shows how to sign up, and no demo account, on an external database', async () => {
    const { body } = await app.rest('GET', '/', { headers: BROWSER })
    expect(body).to.include('/api/auth/sign-up/email').and.not.include('demo@')
  })

  it('GET / allows the browser nothing but the style in the page', async () => {
    const { headers, body } = await app.rest('GET', '/', { headers: BROWSER })
    const style = /<style>(.*)<\/style>/.exec(body)?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    const policy = headers.get('content-security-policy')
    expect(policy).to.include(`default-src 'none'; style-src 'sha256-${hash}'`)
    expect(policy).to.include(`frame-ancestors 'none'`)
    expect(headers.get('x-content-type-options')).to.equal('nosniff')
    expect(body).to.not.match(/<script|<img|<link|style="|https?:\/\//)
  })

  it('GET / returns name, version and links as JSON to clients that prefer it', async () => {
    const { status, headers, body } = await app.rest('GET', '/', { headers: { accept: 'application/json' } })
    expect(status).to.equal(200)
    expect(headers.get('vary')).to.include('Accept')
    expect(body).to.deep.equal({
      name: 'Parley',
      version,
      links: {
        console: '/console',
        docs: '/docs',
        openapi: '/openapi.json',
        postman: '/postman.json',
        errors: '/docs/errors',
        trpc: '/trpc',
        liveness: '/healthz',
        readiness: '/readyz',
      },
    })
  })

  it('GET / compares no header that is longer than those of browsers, and returns the page', async () => {
    const accept = `application/json,${'x/y;q=0.1,'.repeat(1000)}`
    const { headers } = await app.rest('GET', '/', { headers: { accept } })
    expect(headers.get('content-type')).to.equal('text/html; charset=utf-8')
  })

  it('HEAD / returns the headers of GET / without a body', async () => {
    const get = await app.rest('GET', '/', { headers: BROWSER })
    const head = await app.rest('HEAD', '/', { headers: BROWSER })
    expect(head.status).to.equal(200)
    expect(head.headers.get('content-length')).to.equal(String(Buffer.byteLength(get.body)))
    expect(head.body).to.equal('')
  })

  it('GET / executes no database query', async () => {
    const statements: string[] = []
    const record = ({ sql }: { sql: string }) => statements.push(sql)
    app.system.db.on('query', record)
    try {
      await app.rest('GET', '/', { headers: BROWSER })
    } finally {
      app.system.db.off('query', record)
    }
    expect(statements).to.deep.equal([])
  })

  it('POST / returns 404', async () => {
    expect((await app.rest('POST', '/')).status).to.equal(404)
  })
})
