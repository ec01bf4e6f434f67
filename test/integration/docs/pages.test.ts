import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { get } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import Koa from 'koa'
import { request } from 'undici'
import { docsSite } from '../../../src/http/docs/docs-site.ts'
import { ERRORS_PATH } from '../../../src/error-codes/index.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { listDocuments } from '../../support/documents.ts'
import { createTempDir } from '../../support/temp-dir.ts'

const PAGE_BYTES_MAX = 60_000

/** The pages of the documents in `docs/`. */
const PATHS = listDocuments()
  .filter(({ path }) => path.startsWith('docs/'))
  .map(({ path }) => `/${path.replace(/(?:\/README)?\.md$/, '')}`)

describe('GET /docs', () => {
  let app: TestApp
  const pages = new Map<string, string>()

  before(async () => {
    app = await startTestApp()
    for (const path of ['/docs', ERRORS_PATH, ...PATHS]) {
      const { status, body } = await app.rest('GET', path)
      expect(status, path).to.equal(200)
      pages.set(path, body)
    }
  })

  after(() => app.stop())

  it('every document has a page with its title, the tutorial is the first in the navigation', () => {
    expect(pages.size).to.be.greaterThan(50)
    expect(pages.get('/docs/tutorial')).to.include('<h1 id="tutorial-a-bot-that-books-visits">')
    const [first] = /<li><a href="[^"]*"/.exec(pages.get('/docs') ?? '') ?? []
    expect(first).to.equal('<li><a href="/docs/tutorial"')
  })

  it('every link, anchor, image, style and script of every page and of the page at / exists', async () => {
    const broken: string[] = []
    const statuses = new Map<string, number>()
    const { body: index } = await app.rest('GET', '/', { headers: { accept: 'text/html' } })
    for (const [path, html] of [...pages, ['/', String(index)] as const]) {
      const targets = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target = '']) => target)
      for (const target of new Set(targets)) {
        if (/^https:\/\/|^data:,$/.test(target)) continue
        const [page = '', anchor] = target.split('#')
        const linked = page === '' ? path : page
        if (!pages.has(linked) && !statuses.has(linked)) statuses.set(linked, (await app.rest('GET', linked)).status)
        const isThere = pages.has(linked) || statuses.get(linked) === 200
        if (!isThere || !hasAnchor(pages.get(linked) ?? '', anchor)) broken.push(`${path}: ${target}`)
      }
    }
    expect(broken).to.deep.equal([])
  })

  it('no page has an anchor twice', () => {
    for (const [path, html] of pages) {
      const anchors = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
      expect(new Set(anchors).size, path).to.equal(anchors.length)
    }
  })

  it('a page lists no source file as a link', () => {
    for (const [path, html] of pages) expect(html, path).to.not.match(/href="[^"]*\.(?:md|ts|example)["#]/)
  })

  it('pages allow the browser only files of this server, and have no style or script of their own', async () => {
    const { headers } = await app.rest('GET', '/docs/tutorial')
    expect(headers.get('content-security-policy')).to.equal(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    for (const [path, html] of pages) expect(html, path).to.not.match(/<style|<script>| style="| on\w+="/)
  })

  it(`no page has more than ${PAGE_BYTES_MAX} bytes with gzip, and a client that has it gets 304`, async () => {
    for (const path of pages.keys()) {
      const { headers } = await app.rest('GET', path, { headers: { 'accept-encoding': 'gzip' } })
      expect(Number(headers.get('content-length')), path).to.be.within(1, PAGE_BYTES_MAX)
      const again = await request(app.url + path, {
        headers: { 'if-none-match': headers.get('etag') ?? '', 'x-forwarded-for': newAddress() },
      })
      expect([again.statusCode, await again.body.text()], path).to.deep.equal([304, ''])
    }
  })

  it('styles and scripts are kept for a year under names with their hash', async () => {
    const assets = [...(pages.get('/docs') ?? '').matchAll(/(?:href|src)="(\/docs\/assets\/[^"]+)"/g)]
    expect(assets.length).to.equal(2)
    for (const [, path = ''] of assets) {
      const { headers } = await app.rest('GET', path)
      expect(headers.get('cache-control')).to.equal('public, max-age=31536000, immutable')
      expect(headers.get('content-type')).to.match(/^text\/(?:css|javascript); charset=utf-8$/)
    }
  })

  it('an unknown address, also one that leaves the folder, is a page with 404 that repeats nothing of it', async () => {
    for (const path of [
      '/docs/nothing',
      '/docs/tutorial.md',
      '/docs/adr/0099-none',
      '/docs/images/none.svg',
      '/docs/assets/site-0.css',
      '/docs/architecture/README',
    ]) {
      const { status, headers, body } = await app.rest('GET', path)
      expect(status, path).to.equal(404)
      expect(headers.get('content-type')).to.equal('text/html; charset=utf-8')
      expect(body).to.include('<h1>Not found</h1>').and.not.include(path)
    }
    for (const path of ['/docs/../package.json', '/docs/%2e%2e/package.json', '/docs/..%2fpackage.json', '/docs/']) {
      const [response] = await once(get(app.url, { path }), 'response')
      expect(response.resume().statusCode, path).to.equal(404)
    }
  })

  it('shows no demo account on an external database', () => {
    expect(pages.get('/docs')).to.not.include('parley.example').and.not.include('parley-demo')
  })

  it('executes no database query', async () => {
    const statements: string[] = []
    const record = ({ sql }: { sql: string }) => statements.push(sql)
    app.system.db.on('query', record)
    try {
      for (const path of ['/docs', ERRORS_PATH, '/docs/api']) await app.rest('GET', path)
    } finally {
      app.system.db.off('query', record)
    }
    expect(statements).to.deep.equal([])
  })

  it('serves the pictures of the folder of documents, also after one could not be read, and nothing else of it', async () => {
    const folder = createTempDir()
    mkdirSync(join(folder.path, 'images'))
    writeFileSync(join(folder.path, 'images/map.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
    writeFileSync(join(folder.path, 'images/notes.txt'), 'secret')
    writeFileSync(join(folder.path, 'guide.md'), '# Guide\n\n![A map](images/map.svg)\n\n[Notes](images/notes.txt)')
    const readOpenApi = () => Promise.reject(new Error('not needed'))
    const site = docsSite({ readOpenApi, account: undefined, folder: pathToFileURL(`${folder.path}/`) })
    const koa = new Koa().use(site)
    koa.silent = true
    const server = koa.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    try {
      expect(await (await fetch(`${url}/docs/guide`)).text()).to.include('<img src="/docs/images/map.svg" alt="A map"')
      rmSync(join(folder.path, 'images/map.svg'))
      expect((await fetch(`${url}/docs/images/map.svg`)).status).to.equal(500)
      writeFileSync(join(folder.path, 'images/map.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
      const picture = await fetch(`${url}/docs/images/map.svg`)
      expect(picture.headers.get('content-type')).to.equal('image/svg+xml; charset=utf-8')
      expect((await fetch(`${url}/docs/images/notes.txt`)).status).to.equal(404)
    } finally {
      server.close()
      await folder.remove()
    }
  })
})

/** An operation of the reference is the anchor of its link. */
function hasAnchor(html: string, anchor: string | undefined): boolean {
  return anchor === undefined || html.includes(` id="${anchor}"`) || html.includes(`<li><a href="#${anchor}"`)
}
