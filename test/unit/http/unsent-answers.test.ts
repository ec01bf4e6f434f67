import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
import { Admission } from '../../../src/http/load/admission.ts'
import { boundAnswers, UnsentAnswers } from '../../../src/http/load/unsent-answers.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** More than the buffers of the operating system take. */
const ANSWER_BYTES = 20_000_000

describe('answers that clients do not take', () => {
  let server: Server
  let answers: UnsentAnswers
  let url: string
  /** Paths whose answers have ended, in this order. */
  let closed: string[]
  let lines: string[]

  beforeEach(async () => {
    closed = []
    lines = []
    const log = createLogger('warn', { write: (line) => lines.push(line) })
    answers = new UnsentAnswers({ admission: new Admission(log), bytesMax: 2.5 * ANSWER_BYTES, sweepMs: 10 })
    const koa = new Koa()
    koa.silent = true
    koa.use((ctx, next) => {
      ctx.state['addressKey'] = ctx.get('x-client')
      return next()
    })
    koa.use(boundAnswers(answers))
    koa.use((ctx) => {
      ctx.res.once('close', () => closed.push(ctx.path))
      ctx.body = 'x'.repeat(ANSWER_BYTES)
    })
    server = createServer(koa.callback()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  afterEach(() => {
    answers.stop()
    server.closeAllConnections()
    server.close()
  })

  /** Starts to receive an answer of which nothing more is read. */
  async function receiveHead(client: string, path: string): Promise<IncomingMessage> {
    const call = request(`${url}${path}`, { headers: { 'x-client': client } }).end()
    call.on('error', () => undefined)
    const [answer] = (await once(call, 'response')) as [IncomingMessage]
    answer.on('error', () => undefined)
    return answer
  }

  it('are given up beyond a bound, the longest of the client with the most bytes first', async () => {
    const other = await receiveHead('192.0.2.9', '/other')
    await receiveHead('192.0.2.1', '/first')
    await receiveHead('192.0.2.1', '/second')
    await waitUntil(() => closed.length > 0)
    expect(closed).to.deep.equal(['/first'])
    expect(lines).to.have.lengthOf(1)
    expect(JSON.parse(lines[0] ?? '')).to.include({ level: 40, network: '192.0.2.0/24' })
    let bytes = 0
    for await (const chunk of other) bytes += (chunk as Buffer).length
    expect(bytes).to.equal(ANSWER_BYTES)
  })
})
