import { expect } from 'chai'
import { type App, createApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config.ts'
import { synchronizeClock } from '../../../src/platform/database/synchronize-clock.ts'
import { type Database, isOutage, openDatabase } from '../../../src/platform/database/database.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('a database that stops answering without closing its connections', () => {
  let app: TestApp
  let proxy: TcpProxy
  let url: string

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
  })

  beforeEach(async () => {
    proxy = await TcpProxy.start(app.databaseUrl)
    url = proxy.through(app.databaseUrl)
  })

  afterEach(() => proxy.stop())
  after(() => app.stop())

  describe('for a pool', () => {
    let db: Database

    beforeEach(() => {
      db = openDatabase(url, { statementTimeoutMs: 3000, connections: 1 })
    })

    afterEach(() => db.destroy())

    it('fails a statement and its transaction as an outage and replaces the connection', async () => {
      let error: unknown
      await db
        .transaction(async (tx) => {
          await tx.raw('select 1')
          proxy.partition()
          await tx.raw('select 2')
        })
        .catch((failure: unknown) => (error = failure))
      expect(isOutage(error), String(error)).to.equal(true)
      proxy.recover()
      expect((await db.raw('select 3 as n')).rows).to.deep.equal([{ n: 3 }])
    })

    it('ends the start of a process, which has not measured its clock yet', async () => {
      const log = createLogger('silent')
      proxy.partition()
      const error = await synchronizeClock(db, log).catch((failure: unknown) => failure)
      expect(error).to.be.instanceOf(Error)
      proxy.recover()
      const stop = await synchronizeClock(db, log)
      stop()
    })
  })

  describe('for a process', () => {
    let folder: TempDir
    let process: App
    let isStopped: boolean

    beforeEach(async () => {
      folder = createTempDir()
      const config = loadConfig({
        PORT: '0',
        DATABASE_URL: url,
        SECRET_KEY: 'ab'.repeat(32),
        DATA_DIR: folder.path,
      })
      isStopped = false
      process = await createApp(config, { log: createLogger('silent') })
    })

    afterEach(async () => {
      if (!isStopped) await process.stop(1000)
      await folder.remove()
    })

    it('stops although statements get no answer', async function () {
      this.timeout(60_000)
      const readiness = () => fetch(`${process.url}/readyz`).catch(() => undefined)
      await readiness()
      proxy.partition()
      await waitUntil(async () => (await readiness())?.status === 503)
      await process.stop(1000)
      isStopped = true
    })

    it('makes GET /readyz return 503 within seconds, and 200 when the database answers again', async function () {
      this.timeout(120_000)
      const status = async () => (await fetch(`${process.url}/readyz`, { signal: AbortSignal.timeout(15_000) })).status
      expect(await status()).to.equal(200)
      proxy.partition()
      await waitUntil(async () => (await status()) === 503, 15_000)
      proxy.recover()
      await waitUntil(async () => (await status()) === 200)
    })
  })
})
