import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { CONNECTION_LIMITS, createNodeServer } from '../../../src/http/load/node-server.ts'
import { readUpload, type UploadLimits } from '../../../src/http/load/upload-body.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { waitUntil } from '../../support/wait-until.ts'

const PATIENT: UploadLimits = { timeoutMs: 60_000, bytesMin: 1, periodMs: 30_000 }

describe('body of an upload', () => {
  let server: Server
  let limits: UploadLimits
  let arrived: number
  const outcomes: string[] = []
  const clients: Socket[] = []

  beforeEach(async () => {
    limits = PATIENT
    arrived = 0
    server = createNodeServer(
      (req: IncomingMessage, res) => {
        if (req.url !== '/upload') return void buffer(req).catch(() => undefined)
        const body = readUpload(req, limits)
        body.on('data', (chunk: Buffer) => (arrived += chunk.length))
        body.once('end', () => res.end('stored'))
        body.once('error', (error: Error) => {
          outcomes.push(error.message)
          res.writeHead(408, { connection: 'close' }).end(error.message)
        })
      },
      {
        log: createLogger('silent'),
        isProxy: () => true,
        limits: { ...CONNECTION_LIMITS, requestTimeoutMs: 100, checkEveryMs: 20 },
      },
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })

  afterEach(async () => {
    outcomes.splice(0)
    for (const client of clients.splice(0)) client.destroy()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })

  async function open(path: string, bytes: number): Promise<{ client: Socket; answer: () => string }> {
    const { port } = server.address() as AddressInfo
    const client = connect({ port, host: '127.0.0.1' })
    client.on('error', () => undefined)
    clients.push(client)
    await once(client, 'connect')
    let text = ''
    client.on('data', (chunk: Buffer) => (text += chunk.toString()))
    client.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`)
    return { client, answer: () => text }
  }

  /** Sends bytes one at a time, each after the former has arrived, until a condition holds. */
  async function dripUntil(client: Socket, isEnough: () => boolean): Promise<void> {
    while (!isEnough()) {
      const before = arrived
      client.write('x')
      await waitUntil(() => arrived > before)
    }
  }

  it('may take longer than the body of another request, which is answered 408', async () => {
    const other = await open('/other', 10)
    const { client, answer } = await open('/upload', 1_000_000)
    await dripUntil(client, () => other.answer().startsWith('HTTP/1.1 408 '))
    client.write(Buffer.alloc(1_000_000 - arrived))
    await waitUntil(() => answer().includes('stored'))
    expect(answer()).to.match(/^HTTP\/1.1 200 /)
  })

  it('is refused when hardly anything arrives', async () => {
    limits = { ...PATIENT, bytesMin: 2048, periodMs: 50 }
    const { client, answer } = await open('/upload', 1000)
    client.write('x')
    await waitUntil(() => answer().includes('The file arrives too slowly'))
    expect(outcomes[0]).to.include('at least 40 KB per second')
  })

  it('is refused when it takes too long, however much arrives', async () => {
    limits = { ...PATIENT, timeoutMs: 150 }
    const { client, answer } = await open('/upload', 1_000_000)
    await Promise.race([
      dripUntil(client, () => outcomes.length > 0).catch(() => undefined),
      waitUntil(() => outcomes.length > 0),
    ])
    await waitUntil(() => answer().startsWith('HTTP/1.1 408 '))
  })

  it('fails when the client ends the connection', async () => {
    const { client } = await open('/upload', 1000)
    client.write('x')
    await waitUntil(() => arrived > 0)
    client.destroy()
    await waitUntil(() => outcomes.length > 0)
  })
})
