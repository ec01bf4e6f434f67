import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { expect } from 'chai'
import { OutboundError } from '../../../src/platform/outbound/outbound-error.ts'
import { PublicPoster } from '../../../src/platform/outbound/post-public.ts'
import { waitUntil } from '../../support/wait-until.ts'

const NUMBERS = ['1', '2', '3', '4', '5', '6']

type Handler = (request: IncomingMessage, response: ServerResponse) => void

describe('PublicPoster', () => {
  let server: Server
  let url: string
  let handle: Handler
  let sockets: Set<Socket>
  const posters: PublicPoster[] = []

  beforeEach(async () => {
    sockets = new Set()
    server = createServer((request, response) => {
      sockets.add(request.socket)
      handle(request, response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/events?key=1`
  })

  afterEach(async () => {
    for (const poster of posters.splice(0)) await poster.close()
    server.close()
    server.closeAllConnections()
  })

  function createPoster(fields: { timeoutMs?: number; allowsLoopback?: boolean } = {}, signal?: AbortSignal) {
    const poster = new PublicPoster({ url, timeoutMs: 5000, allowsLoopback: true, ...fields }, signal)
    posters.push(poster)
    return poster
  }

  async function errorCode(answer: Promise<unknown>): Promise<string> {
    const error = await answer.then(
      (result) => expect.fail(`answered ${JSON.stringify(result)}`),
      (reason: unknown) => reason,
    )
    if (error instanceof OutboundError) return error.code
    throw error
  }

  it('posts one request after the other over connections that it keeps', async () => {
    const seen: string[] = []
    handle = (request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers['x-n']}`)
      response.writeHead(seen.length === 2 ? 302 : 200, { location: '/other', 'retry-after': '7' }).end('Thanks')
    }
    const poster = createPoster()
    const answers = []
    for (const n of NUMBERS) answers.push(await poster.post({ 'x-n': n }, '{}'))
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 302, 200, 200, 200, 200])
    expect(answers[0]?.retryAfter).to.equal('7')
    expect(seen).to.deep.equal(NUMBERS.map((n) => `POST /events?key=1 ${n}`))
    // A connection is free again in the next cycle of the event loop.
    expect(sockets.size).to.be.at.most(2)
  })

  it('takes an answer whose body is too large or never ends for one, and closes its connection', async () => {
    const poster = createPoster()
    for (const write of [
      (response: ServerResponse) => response.end('x'.repeat(200_000)),
      (response: ServerResponse) => response.write('x'),
    ]) {
      handle = (_, response) => void write(response.writeHead(201))
      expect(await poster.post({}, '{}')).to.include({ status: 201 })
    }
    await waitUntil(() => [...sockets].every((socket) => socket.destroyed))
    handle = (_, response) => response.end()
    expect(await poster.post({}, '{}')).to.include({ status: 200 })
    expect(sockets.size).to.equal(3)
  })

  it('repeats a request whose connection was closed once, if others were answered before', async () => {
    const seen: string[] = []
    let closed = 1
    handle = (request, response) => {
      seen.push(String(request.headers['x-n']))
      if (seen.at(-1) === '2' && closed-- > 0) request.socket.destroy()
      else response.end()
    }
    const poster = createPoster()
    expect(await poster.post({ 'x-n': '1' }, '{}')).to.include({ status: 200 })
    expect(await poster.post({ 'x-n': '2' }, '{}')).to.include({ status: 200 })
    expect(seen).to.deep.equal(['1', '2', '2'])
    closed = Infinity
    expect(await errorCode(poster.post({ 'x-n': '2' }, '{}'))).to.equal('unreachable')
    expect(await errorCode(poster.post({ 'x-n': '2' }, '{}'))).to.equal('unreachable')
    expect(seen.slice(3)).to.deep.equal(['2', '2', '2'])
  })

  it('does not take the announcement of an answer for one', async () => {
    handle = (_, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' })
      response.writeHead(204).end()
    }
    expect(await createPoster().post({}, '{}')).to.include({ status: 204 })
  })

  it('rejects with timed_out, called_off or unreachable if there is no answer', async () => {
    handle = () => undefined
    expect(await errorCode(createPoster({ timeoutMs: 50 }).post({}, '{}'))).to.equal('timed_out')
    const canceling = new AbortController()
    const poster = createPoster({}, canceling.signal)
    handle = () => canceling.abort()
    expect(await errorCode(poster.post({}, '{}'))).to.equal('called_off')
    expect(await errorCode(poster.post({}, '{}'))).to.equal('called_off')
    handle = (request) => request.socket.destroy()
    expect(await errorCode(createPoster().post({}, '{}'))).to.equal('unreachable')
  })

  it('makes no connection to an address that may not be called', async () => {
    url = url.replace('127.0.0.1', 'localhost')
    handle = (_, response) => response.end()
    expect(await errorCode(createPoster({ allowsLoopback: false }).post({}, '{}'))).to.equal('invalid_url')
    url = 'https://localhost/'
    expect(await errorCode(createPoster({ allowsLoopback: false }).post({}, '{}'))).to.equal('host_refused')
    expect(sockets.size).to.equal(0)
  })

  it('rejects a header value with a line break with invalid_request', async () => {
    handle = (_, response) => response.end()
    expect(await errorCode(createPoster().post({ 'x-n': 'a\r\nb: c' }, '{}'))).to.equal('invalid_request')
  })
})
