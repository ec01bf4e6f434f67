import { once } from 'node:events'
import type { RequestListener, Server, ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { CONNECTION_LIMITS, createNodeServer } from '../../../src/http/load/node-server.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Times that no test reaches, but those that set their own. */
const LIMITS = {
  ...CONNECTION_LIMITS,
  connectionsMax: 3,
  connectionsPerAddressMax: 2,
  headersTimeoutMs: 60_000,
  checkEveryMs: 20,
  keepAliveMs: 1,
  idleCloseMs: { client: 60_000, proxy: 60_000 },
  idleMs: 60_000,
}

const PROXY = '127.0.0.3'

describe('HTTP server', () => {
  let server: Server
  const clients: Socket[] = []
  let paths: string[]
  let streamed: ServerResponse | undefined

  beforeEach(() => start())
  afterEach(stop)

  async function start(limits: Partial<typeof LIMITS> = {}): Promise<void> {
    paths = []
    const listener: RequestListener = ({ url = '' }, res) => {
      paths.push(url)
      res.on('close', () => paths.push(`${url} closed`))
      if (url === '/large') res.end(Buffer.alloc(20_000_000))
      else if (url === '/streamed') {
        streamed = res
        res.writeHead(200, { 'content-length': 4 })
        res.write('last')
      } else if (url !== '/pending') res.end('ok')
    }
    server = createNodeServer(listener, {
      log: createLogger('silent'),
      isProxy: (address) => address === PROXY,
      limits: { ...LIMITS, ...limits },
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }

  async function stop(): Promise<void> {
    for (const client of clients.splice(0)) client.destroy()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }

  async function restart(limits: Partial<typeof LIMITS>): Promise<void> {
    await stop()
    await start(limits)
  }

  /** A client that never closes its side of the connection. */
  async function open(text: string, localAddress = PROXY): Promise<Socket> {
    const { port } = server.address() as AddressInfo
    const client = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true })
    client.on('error', () => undefined)
    clients.push(client)
    await once(client, 'connect')
    if (text !== '') client.write(text)
    return client
  }

  const countConnections = () =>
    new Promise<number>((resolve, reject) => {
      server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
    })

  async function readAll(client: Socket): Promise<string> {
    let text = ''
    client.on('data', (chunk) => (text += chunk.toString()))
    await once(client, 'end')
    return text
  }

  it('destroys the connection of a request that is not HTTP after its answer, also when the client keeps it open', async () => {
    expect(await readAll(await open('nonsense\r\n\r\n'))).to.match(/^HTTP\/1.1 400 /)
    await waitUntil(async () => (await countConnections()) === 0)
  })

  it('destroys connections that send no complete headers in time', async () => {
    await restart({ headersTimeoutMs: 100 })
    expect(await readAll(await open('GET / HTTP/1.1\r\n'))).to.match(/^HTTP\/1.1 408 /)
    await readAll(await open(''))
    await waitUntil(async () => (await countConnections()) === 0)
  })

  it('accepts no more connections than its bound', async () => {
    for (let n = 0; n < 3; n += 1) await open('')
    const client = await open('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    const outcome = await Promise.race([
      once(client, 'close').then(() => 'closed'),
      once(client, 'end').then(() => 'closed'),
      once(client, 'data').then(() => 'answered'),
    ])
    expect(outcome).to.equal('closed')
  })

  it('destroys the connection of a request that is sent before the previous one is answered', async () => {
    await open(`${toRequest('/pending')}${toRequest('/next')}`)
    await waitUntil(async () => (await countConnections()) === 0)
    expect(paths).to.deep.equal(['/pending', '/pending closed'])
  })

  it('answers a request that is sent after the last byte of an answer that has not ended yet', async () => {
    const client = await open(toRequest('/streamed'))
    let text = ''
    client.on('data', (chunk) => (text += chunk.toString()))
    await waitUntil(() => text.endsWith('last'))
    client.write(toRequest('/next'))
    // The server has received the request once it has answered a later one of another connection.
    const other = await open(toRequest('/other'))
    await once(other, 'data')
    expect(paths).to.not.include('/next')
    streamed?.end()
    await waitUntil(() => text.endsWith('ok'))
  })

  it('answers requests that are sent one after the other on a connection', async () => {
    const client = await open('')
    for (let n = 0; n < 3; n += 1) {
      client.write(toRequest('/'))
      await once(client, 'data')
    }
    expect(paths.filter((path) => path === '/')).to.have.length(3)
  })

  it('keeps idle connections longer than it announces, and those of a trusted proxy longer than those of clients', async () => {
    await restart({ idleCloseMs: { client: 100, proxy: 60_000 } })
    const [client, proxy] = [await open(toRequest('/'), '127.0.0.1'), await open(toRequest('/'))]
    const [answer] = await once(proxy, 'data')
    expect(String(answer)).to.match(/^Keep-Alive: timeout=0\r$/m)
    await readAll(client)
    proxy.write(toRequest('/again'))
    await once(proxy, 'data')
    expect(paths).to.include('/again')
  })

  it('destroys the connection of a client that does not take its answer', async () => {
    await restart({ idleMs: 200 })
    const client = await open('')
    client.pause()
    client.write(toRequest('/large'))
    await waitUntil(() => paths.includes('/large closed'))
    await waitUntil(async () => (await countConnections()) === 0)
  })

  it('closes connections beyond the share of their address, and none of a trusted proxy or of another address', async () => {
    const request = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'
    const [first, second] = [await open('', '127.0.0.1'), await open('', '127.0.0.1')]
    expect(await readAll(await open('', '127.0.0.1'))).to.equal('')
    expect(await readAll(await open(request, '127.0.0.2'))).to.match(/^HTTP\/1.1 200 /)
    first.destroy()
    second.destroy()
    await waitUntil(async () => (await countConnections()) === 0)
    expect(await readAll(await open(request, '127.0.0.1'))).to.match(/^HTTP\/1.1 200 /)
  })
})

function toRequest(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
}
