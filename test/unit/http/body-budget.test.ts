import { once } from 'node:events'
import { type ClientRequest, createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
import { Admission } from '../../../src/http/load/admission.ts'
import { BodyBudget, boundBodies } from '../../../src/http/load/body-budget.ts'
import { errorBodies } from '../../../src/http/errors.ts'
import { readBytes } from '../../../src/http/load/read-body.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { waitUntil } from '../../support/wait-until.ts'

const BYTES_MAX = 2400

describe('bodies of all requests together', () => {
  let server: Server
  let url: string
  let bytesRead: number
  /** Answers wait for it. */
  let held: Promise<void>

  beforeEach(async () => {
    bytesRead = 0
    held = Promise.resolve()
    const koa = new Koa()
    koa.silent = true
    koa.use(errorBodies(createLogger('silent')))
    koa.use(async (ctx, next) => {
      ctx.state['addressKey'] = ctx.get('x-client')
      await next()
    })
    koa.use(boundBodies(new BodyBudget({ admission: new Admission(createLogger('silent')), bytesMax: BYTES_MAX })))
    koa.use(async (ctx) => {
      ctx.req.on('data', (chunk: Buffer) => (bytesRead += chunk.length))
      const { length } = await readBytes(ctx, 900)
      await held
      ctx.body = String(length)
    })
    server = createServer(koa.callback()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  const send = (client: string, bytes = 500) =>
    fetch(url, { method: 'POST', headers: { 'x-client': client }, body: 'x'.repeat(bytes) })

  function hold(): () => void {
    let release = () => {}
    held = new Promise((resolve) => (release = resolve))
    return release
  }

  /** Sends 600 of 900 bytes. */
  async function sendHalf(client: string): Promise<ClientRequest> {
    const before = bytesRead
    const call = request(url, { method: 'POST', headers: { 'content-length': 900, 'x-client': client } })
    call.on('error', () => undefined)
    call.write('x'.repeat(600))
    await waitUntil(() => bytesRead === before + 600)
    return call
  }

  it('make room for others when they are too large, those that have been arriving for longest first', async () => {
    const halves: ClientRequest[] = []
    for (const client of ['a', 'b', 'c', 'd']) halves.push(await sendHalf(client))
    const givenUp = halves.map((half) => once(half, 'response').then(([response]: IncomingMessage[]) => response))
    expect((await send('e')).status).to.equal(200)
    const first = await Promise.race(givenUp)
    expect(first?.statusCode).to.equal(503)
    expect(first?.headers['retry-after']).to.match(/^\d+$/)
    expect(first).to.equal(await givenUp[0])
    expect((await send('e')).status).to.equal(200)
    expect(halves.slice(1).map((half) => half.destroyed)).to.deep.equal([false, false, false])
  })

  it('that have arrived whole make no room, so that the next one is rejected with 503 and Retry-After', async () => {
    const release = hold()
    const whole = ['a', 'b', 'c', 'd'].map((client) => send(client, 599))
    await waitUntil(() => bytesRead === 4 * 599)
    const rejected = await send('e')
    expect(rejected.status).to.equal(503)
    expect(rejected.headers.get('retry-after')).to.match(/^\d+$/)
    release()
    for (const { status } of await Promise.all(whole)) expect(status).to.equal(200)
    expect((await send('e')).status).to.equal(200)
  })

  it('of the networks of one IPv6 line count as those of one client', async () => {
    const half = await sendHalf('2001:db8:1:1::/64')
    expect((await send('2001:db8:1:2::/64')).status).to.equal(503)
    expect((await send('2001:db8:2:1::/64')).status).to.equal(200)
    half.destroy()
  })

  it('of one client may use a quarter of the bound, so that the others are served', async () => {
    const half = await sendHalf('a')
    expect((await send('a')).status).to.equal(503)
    expect((await send('b')).status).to.equal(200)
    half.destroy()
    await waitUntil(async () => (await send('a')).status === 200)
  })
})
