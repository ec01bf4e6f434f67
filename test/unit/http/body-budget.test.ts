import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
import { BodyBudget, boundBodies } from '../../../src/http/load/body-budget.ts'
import { errorBodies } from '../../../src/http/errors.ts'
import { readBytes } from '../../../src/http/load/read-body.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('bodies of all requests together', () => {
  it('over the bound are rejected with 503 and Retry-After until others are answered or broken off', async () => {
    let bytesRead = 0
    const koa = new Koa()
    koa.silent = true
    koa.use(errorBodies(createLogger('silent')))
    koa.use(boundBodies(new BodyBudget(1000)))
    koa.use(async (ctx) => {
      ctx.req.on('data', (chunk: Buffer) => (bytesRead += chunk.length))
      ctx.body = String((await readBytes(ctx, 900)).length)
    })
    const server = createServer(koa.callback()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}`
    const send = () => fetch(url, { method: 'POST', body: 'x'.repeat(500) })

    const halfSent = request(url, { method: 'POST', headers: { 'content-length': 900 } })
    halfSent.on('error', () => undefined)
    halfSent.write('x'.repeat(600))
    await waitUntil(() => bytesRead === 600)
    const rejected = await send()
    expect(rejected.status).to.equal(503)
    expect(rejected.headers.get('retry-after')).to.match(/^\d+$/)

    halfSent.destroy()
    await waitUntil(async () => (await send()).status === 200)
    for (let n = 0; n < 5; n += 1) expect((await send()).status).to.equal(200)
    server.closeAllConnections()
    server.close()
  })
})
