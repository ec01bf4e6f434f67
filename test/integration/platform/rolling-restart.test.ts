import { expect } from 'chai'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { Checkout } from '../../support/checkout.ts'
import { compiledProgram } from '../../support/compiled-programs.ts'
import { findUrl, Owner, type Server, stopServer } from '../../support/deployment.ts'
import { cloneDatabase, type TestDatabase } from '../../support/postgres.ts'
import { CHECK_EVERY_MS, ReadinessProxy } from '../../support/readiness-proxy.ts'
import { Traffic } from '../../support/traffic.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('a rolling restart', function () {
  this.timeout(300_000)
  let checkout: Checkout
  let database: TestDatabase
  let proxy: ReadinessProxy

  before(async () => {
    checkout = new Checkout()
    database = await cloneDatabase(async (url) => {
      await migrate(url, createLogger('silent'))
    })
    proxy = await ReadinessProxy.start()
  })

  after(async () => {
    proxy?.stop()
    await checkout.remove()
    await database?.drop()
  })

  async function start(role: 'http' | 'worker'): Promise<Server> {
    const env = {
      DATABASE_URL: database.url,
      SECRET_KEY: 'ab'.repeat(32),
      ROLES: role,
      TRUSTED_PROXIES: '127.0.0.1/32',
      LOG_FORMAT: 'json',
      // The checks of a busy machine are late.
      DRAIN_DELAY_MS: String(20 * CHECK_EVERY_MS),
    }
    return checkout.serve('node', [await compiledProgram('src/main.ts')], env)
  }

  async function startBehindProxy(): Promise<Server> {
    const server = await start('http')
    proxy.add(findUrl(server))
    await waitUntil(() => proxy.isReady(findUrl(server)))
    return server
  }

  async function restartServers(servers: Server[]): Promise<void> {
    for (const server of servers.splice(0)) {
      await stopServer(server)
      proxy.remove(findUrl(server))
      servers.push(await startBehindProxy())
    }
  }

  async function restartWorkers(workers: Server[]): Promise<void> {
    for (const worker of workers.splice(0)) {
      await stopServer(worker)
      workers.push(await start('worker'))
    }
  }

  it('of two http and two worker processes under traffic fails no request, and every message is answered once', async () => {
    const servers = await Promise.all([startBehindProxy(), startBehindProxy()])
    const workers = await Promise.all([start('worker'), start('worker')])
    const owner = await Owner.signUp(proxy.url, 'ada@parley.example')
    await owner.publishAnswer(proxy.url, 'Hi')
    const traffic = new Traffic([proxy.url], owner)
    traffic.start()
    await Promise.all([restartServers(servers), restartWorkers(workers)])
    await traffic.stop()
    expect(traffic.failures).to.deep.equal([])
    expect(traffic.acknowledged.length).to.be.greaterThan(50)
    await withClient(database.url, async (client) => {
      const unanswered = `select count(*)::int as count from messages i where direction = 'inbound' and
        (select count(*) from messages o where o.tenant_id = i.tenant_id and o.conversation_id = i.conversation_id
           and o.direction = 'outbound') <> 1`
      await waitUntil(async () => (await client.query<{ count: number }>(unanswered)).rows[0]?.count === 0)
    })
    await Promise.all([...servers, ...workers].map(stopServer))
  })
})
