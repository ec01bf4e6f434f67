import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
import { errorBodies, logFailure } from '../../../src/http/errors.ts'
import { BodyBudget, boundBodies } from '../../../src/http/load/body-budget.ts'
import { readBytes } from '../../../src/http/load/read-body.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('uploads that the client breaks off', () => {
  it('are logged as debug and not as errors', async () => {
    const levels: number[] = []
    const destination = { write: (line: string) => levels.push((JSON.parse(line) as { level: number }).level) }
    const log = createLogger('debug', destination)
    let isReading = false
    const koa = new Koa()
    koa.use(errorBodies(log))
    koa.use((ctx, next) => {
      ctx.state['addressKey'] = '192.0.2.1'
      return next()
    })
    koa.use(boundBodies(new BodyBudget(1000)))
    koa.use(async (ctx) => {
      isReading = true
      await readBytes(ctx, 1000)
    })
    koa.on('error', (error: Error) => logFailure(log, error, 'response failed'))
    const server = createServer(koa.callback()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const upload = request(`http://127.0.0.1:${port}`, { method: 'POST', headers: { 'content-length': 900 } })
    upload.on('error', () => undefined)
    upload.write('x')
    await waitUntil(() => isReading)
    upload.destroy()
    await waitUntil(() => levels.length > 0)
    expect(new Set(levels)).to.deep.equal(new Set([20]))
    server.close()
  })
})
