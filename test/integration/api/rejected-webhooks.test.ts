import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect } from 'chai'
import { newId } from '../../../src/platform/ids.ts'
import { buildWorkspace } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { WebhookCaller } from '../../support/webhook-caller.ts'

const REJECTED_MAX = 60

describe('rejected webhook calls', () => {
  let app: TestApp
  let caller: WebhookCaller

  before(async () => {
    app = await startTestApp()
    caller = new WebhookCaller(app, await buildWorkspace(app))
  })

  after(() => app.stop())

  for (const [path, status] of [
    ['/inbound/whatsapp/', 404],
    ['/inbound/webhooks/', 401],
  ] as const) {
    it(`POST ${path}{id} of an unknown address returns ${status} and closes before the body is sent`, async () => {
      const call = request(app.url + path + newId(), {
        method: 'POST',
        headers: { 'content-length': 1_000_000, 'x-forwarded-for': newAddress() },
      })
      call.on('error', () => undefined)
      call.write('x')
      const [response] = (await once(call, 'response')) as [IncomingMessage]
      response.resume()
      expect(response.statusCode).to.equal(status)
      expect(response.headers.connection).to.equal('close')
      call.destroy()
    })
  }

  it('more than 60 calls of unknown addresses in a minute return 429, and known webhooks go on', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    const callUnknown = () => app.rest('POST', `/inbound/whatsapp/${newId()}`, { headers, body: {} })
    for (let n = 0; n < REJECTED_MAX; n += 1) expect((await callUnknown()).status).to.equal(404)
    for (let n = 0; n < 2; n += 1) {
      const { status, headers: answered } = await callUnknown()
      expect(status).to.equal(429)
      expect(Number(answered.get('retry-after'))).to.be.within(1, 60)
    }
    const { path, secret } = await caller.publishWithSecret()
    const known = await caller.call(path, '{}', { ...headers, authorization: `Bearer ${secret}` })
    expect(known.status).to.equal(202)
  })

  it('more than 60 forged calls of a webhook in a minute return 429, and other webhooks go on', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    const [forged, other] = [await caller.publishWithSecret(), await caller.publishWithSecret()]
    for (let n = 0; n < REJECTED_MAX; n += 1) {
      expect((await caller.call(forged.path, '{}', { ...headers, authorization: 'Bearer no' })).status).to.equal(401)
    }
    for (const secret of ['no', forged.secret]) {
      const { status } = await caller.call(forged.path, '{}', { ...headers, authorization: `Bearer ${secret}` })
      expect(status, secret).to.equal(429)
    }
    const authorization = `Bearer ${other.secret}`
    expect((await caller.call(other.path, '{}', { ...headers, authorization })).status).to.equal(202)
  })
})
