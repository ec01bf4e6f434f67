import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { BODY_CODES, CODE_SECTIONS } from '../../../src/error-codes/index.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'

describe('GET /docs/errors', () => {
  let app: TestApp
  let page: string
  let headers: Headers

  before(async () => {
    app = await startTestApp()
    const response = await app.rest('GET', '/docs/errors')
    expect(response.status).to.equal(200)
    page = response.body
    headers = response.headers
  })

  after(() => app.stop())

  it('GET /docs/errors has an anchor for every code of an error, an item, a step and a problem', () => {
    const others = CODE_SECTIONS.flatMap(({ prefix, codes }) => Object.keys(codes).map((code) => `${prefix}-${code}`))
    const anchors = [...page.matchAll(/<h3 id="([^"]+)">/g)].map(([, id]) => id)
    expect(anchors).to.include.members([...BODY_CODES, ...others])
    expect(new Set(anchors).size).to.equal(anchors.length)
  })

  it('HEAD /docs/errors returns the headers of GET /docs/errors without a body', async () => {
    const head = await app.rest('HEAD', '/docs/errors')
    expect([head.status, head.body]).to.deep.equal([200, ''])
    for (const name of ['content-length', 'etag', 'content-security-policy']) {
      expect(head.headers.get(name), name).to.equal(headers.get(name)).and.not.equal(null)
    }
  })

  it('POST /docs/errors returns 404', async () => {
    expect((await app.rest('POST', '/docs/errors')).status).to.equal(404)
  })

  it('a request that is not HTTP is 400 with the address of the explanation', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
    socket.write('nonsense\r\n\r\n')
    const answer = await text(socket)
    const body = JSON.parse(answer.split('\r\n\r\n')[1] ?? '')
    expect(body).to.include({ code: 'bad_request', docUrl: '/docs/errors#bad_request' })
    expect(page).to.include('<h3 id="bad_request">')
  })
})
