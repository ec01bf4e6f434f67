import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
import { accessLog, createPathMask } from '../../../src/http/access-log.ts'
import { errorBodies, logFailure } from '../../../src/http/errors.ts'
import { Admission } from '../../../src/http/load/admission.ts'
import { BodyBudget, boundBodies } from '../../../src/http/load/body-budget.ts'
import { readBytes } from '../../../src/http/load/read-body.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { appRouter } from '../../../src/router.ts'
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
    koa.use(boundBodies(new BodyBudget({ admission: new Admission(log), bytesMax: 1000 })))
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

describe('calls whose client leaves before the answer', () => {
  it('have a line in the log', async () => {
    const lines: Record<string, unknown>[] = []
    const log = createLogger('info', { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) })
    const koa = new Koa()
    koa.use(accessLog(log, appRouter, createPathMask(appRouter)))
    let isWorking = false
    koa.use(async (ctx) => {
      isWorking = true
      await once(ctx.res, 'close')
      ctx.body = 'done'
    })
    const server = createServer(koa.callback()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const call = request(`http://127.0.0.1:${port}/api/contacts`)
    call.on('error', () => undefined)
    call.end()
    await waitUntil(() => isWorking)
    call.destroy()
    await waitUntil(() => lines.length > 0)
    expect(lines).to.have.length(1)
    expect(lines[0]).to.include({ msg: 'request broken off', method: 'GET', path: '/api/contacts' })
    expect(lines[0]).not.to.have.property('status')
    server.close()
  })
})
