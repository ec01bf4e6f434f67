import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect } from 'chai'
import { newId } from '../../../src/platform/ids.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const LAG_MAX_MS = 200

describe('a process whose event loop is late', function () {
  this.timeout(120_000)
  let app: TestApp
  let folder: TempDir
  let process: ParleyProcess

  before(async () => {
    app = await startTestApp()
    folder = createTempDir()
    process = await startParleyProcess({
      DATABASE_URL: app.databaseUrl,
      DATA_DIR: folder.path,
      ROLES: 'http',
      TRUSTED_PROXIES: '127.0.0.1/32',
      EVENT_LOOP_LAG_MAX_MS: String(LAG_MAX_MS),
    })
  })

  after(async () => {
    await process.kill()
    await folder.remove()
    await app.stop()
  })

  afterEach(() => process.keepBusy(0))

  const send = (method: string, path: string) =>
    fetch(`${process.url}${path}`, { method, headers: { 'x-forwarded-for': newAddress() } })
  const api = () => send('GET', '/api/contacts')
  const webhook = () => send('POST', `/inbound/whatsapp/${newId()}`)
  const returns = (call: () => Promise<Response>, status: number) => async () => (await call()).status === status

  it('rejects requests with 503 and Retry-After, accepts webhooks, and recovers', async () => {
    await waitUntil(returns(api, 401))
    process.keepBusy(2 * LAG_MAX_MS)
    await waitUntil(returns(api, 503))
    await waitUntil(returns(webhook, 404))
    expect((await send('GET', '/healthz')).status).to.equal(200)
    await waitUntil(async () => {
      const answer = await send('GET', '/api/trpc/contacts.list')
      return answer.status === 503 && answer.headers.get('retry-after') === '1'
    })
    process.keepBusy(0)
    await waitUntil(returns(api, 401))
  })

  it('rejects webhooks too when it is late by five times as much, but answers health checks', async () => {
    process.keepBusy(6 * LAG_MAX_MS)
    await waitUntil(returns(webhook, 503))
    expect((await send('GET', '/healthz')).status).to.equal(200)
    process.keepBusy(0)
    await waitUntil(returns(webhook, 404))
  })

  it('rejects a request before its body is sent', async () => {
    process.keepBusy(2 * LAG_MAX_MS)
    await waitUntil(async () => {
      const call = request(`${process.url}/api/auth/sign-up/email`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': 10_000, 'x-forwarded-for': newAddress() },
      })
      call.on('error', () => undefined)
      call.flushHeaders()
      // An accepted request gets no answer before its body.
      const [answer] = (await Promise.race([once(call, 'response'), api().then(() => [undefined])])) as [
        IncomingMessage | undefined,
      ]
      call.destroy()
      return answer?.statusCode === 503 && answer.headers.connection === 'close'
    })
  })
})
