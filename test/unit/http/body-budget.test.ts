import { once } from 'node:events'
import { type ClientRequest, createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
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

  beforeEach(async () => {
    bytesRead = 0
    const koa = new Koa()
    koa.silent = true
    koa.use(errorBodies(createLogger('silent')))
    koa.use(async (ctx, next) => {
      ctx.state['addressKey'] = ctx.get('x-client')
      await next()
    })
    koa.use(boundBodies(new BodyBudget(BYTES_MAX)))
    koa.use(async (ctx) => {
      ctx.req.on('data', (chunk: Buffer) => (bytesRead += chunk.length))
      ctx.body = String((await readBytes(ctx, 900)).length)
    })
    server = createServer(koa.callback()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  const send = (client: string) =>
    fetch(url, { method: 'POST', headers: { 'x-client': client }, body: 'x'.repeat(500) })

  /** Sends 600 of 900 bytes. */
  async function sendHalf(client: string): Promise<ClientRequest> {
    const before = bytesRead
    const call = request(url, { method: 'POST', headers: { 'content-length': 900, 'x-client': client } })
    call.on('error', () => undefined)
    call.write('x'.repeat(600))
    await waitUntil(() => bytesRead === before + 600)
    return call
  }

  it('over the bound are rejected with 503 and Retry-After until others are answered or broken off', async () => {
    const halves = [await sendHalf('a'), await sendHalf('b'), await sendHalf('c'), await sendHalf('d')]
    const rejected = await send('e')
    expect(rejected.status).to.equal(503)
    expect(rejected.headers.get('retry-after')).to.match(/^\d+$/)

    for (const half of halves) half.destroy()
    await waitUntil(async () => (await send('e')).status === 200)
    for (let n = 0; n < 5; n += 1) expect((await send('e')).status).to.equal(200)
  })

  it('of one client may use a quarter of the bound, so that the others are served', async () => {
    const half = await sendHalf('a')
    expect((await send('a')).status).to.equal(503)
    expect((await send('b')).status).to.equal(200)
    half.destroy()
    await waitUntil(async () => (await send('a')).status === 200)
  })
})
