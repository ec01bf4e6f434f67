import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { RedisClientType } from 'redis'
import { createLogger } from '../../../src/platform/log.ts'
import { connectRedis } from '../../../src/platform/notifications/redis.ts'
import { RedisRevocations } from '../../../src/platform/notifications/redis-revocations.ts'
import { waitUntil } from '../../support/wait-until.ts'

const LOG = createLogger('silent')

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

const clients: RedisClientType[] = []
const opened: RedisRevocations[] = []

/** Opens a client and revocations as a separate process would. */
async function open(url: string): Promise<RedisRevocations> {
  const client = await connectRedis(url, LOG)
  const revocations = new RedisRevocations({ client, log: LOG })
  revocations.open()
  clients.push(client)
  opened.push(revocations)
  return revocations
}

describe('RedisRevocations', () => {
  let server: ChildProcess | undefined

  after(async () => {
    for (const revocations of opened) await revocations.close()
    for (const client of clients) client.destroy()
    server?.kill('SIGKILL')
  })

  it('delivers a revocation to every process', async function deliver() {
    if (spawnSync('redis-server', ['--version']).status !== 0 && !process.env['CI']) return this.skip()
    const port = await freePort()
    server = spawn('redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', '--save', ''], { stdio: 'ignore' })
    const [one, other] = [await open(`redis://127.0.0.1:${port}`), await open(`redis://127.0.0.1:${port}`)]
    const received = new Set<string>()
    other.subscribe((userId) => received.add(userId))
    // Both connect in the background; revocations published before that are lost, as the interface permits.
    await waitUntil(() => {
      one.revoke('ada')
      return received.size > 0
    })
    expect([...received]).to.deep.equal(['ada'])
  })

  it('delivers a revocation to its own process immediately while Redis is unreachable', async () => {
    const revocations = await open(`redis://127.0.0.1:${await freePort()}`)
    const received: string[] = []
    revocations.subscribe((userId) => received.push(userId))
    revocations.revoke('ada')
    expect(received).to.deep.equal(['ada'])
  })
})
