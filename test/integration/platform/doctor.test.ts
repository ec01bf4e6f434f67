import { expect } from 'chai'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { newId } from '../../../src/platform/ids.ts'
import { addMs, MINUTE } from '../../../src/platform/time.ts'
import { buildChannel, buildContact, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { deadLetterMessage } from '../../support/dead-letters.ts'
import {
  createInitializedDataDir,
  discardClusters,
  discardPreparedCluster,
  hasRunningServer,
  startServer,
} from '../../support/embedded-clusters.ts'
import { freePort } from '../../support/free-port.ts'
import { runDoctor, runParley } from '../../support/parley-command.ts'
import { startRedis } from '../../support/redis.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** Checks that are well in a database of the tests until something is damaged. */
const WELL = ['migrations', 'indexes', 'counts', 'secrets', 'due-work', 'connections', 'dead-letters']

describe('parley doctor', function () {
  this.timeout(120_000)

  describe('with the embedded database', () => {
    after(async () => {
      await discardClusters()
      await discardPreparedCluster()
    })

    it('finds no problem in a new installation, exits with 0 and stops the server that it has started', async () => {
      const dataDir = await createInitializedDataDir()
      const server = await startServer(dataDir)
      await migrate(server.connectionString, createLogger('silent'))
      await server.stop()
      const { code, stdout, stderr } = await runParley(['doctor'], { DATA_DIR: dataDir })
      const lines = stdout.trimEnd().split('\n')
      expect({ code, stderr, bad: lines.filter((line) => !line.startsWith('ok ')) }).to.deep.equal({
        code: 0,
        stderr: '',
        bad: [],
      })
      expect(lines).to.include('ok       durability: fsync and full_page_writes are on, synchronous_commit is on')
      expect(hasRunningServer(dataDir)).to.equal(false)
    })
  })

  describe('with DATABASE_URL', () => {
    let app: TestApp
    let workspace: WorkspaceClient

    before(async () => {
      app = await startTestApp({ ROLES: 'http' })
      workspace = await buildWorkspace(app)
      await buildContact(workspace)
      await buildContact(workspace)
      await buildChannel(workspace)
    })

    after(() => app.stop())

    const doctor = (environment: Record<string, string> = {}, ...args: string[]) =>
      runDoctor({ DATABASE_URL: app.databaseUrl, DATA_DIR: app.dataDir, ...environment }, ...args)

    it('reports settings with which a power failure loses data, and no problem of what is well', async () => {
      const { code, results } = await doctor()
      expect(WELL.filter((check) => results.get(check)?.status !== 'ok')).to.deep.equal([])
      expect(results.get('durability')?.message).to.match(/^fsync and full_page_writes and synchronous_commit off/)
      expect(code).to.equal(1)
    })

    it('reports a migration that is missing', async () => {
      const name = '20261127090000_add_workflow_keys'
      await app.system.db('migrations').where({ name }).delete()
      const { code, results } = await doctor()
      await app.system.db('migrations').insert({ name, batch: 1 })
      expect(results.get('migrations')).to.include({ status: 'problem' })
      expect(results.get('migrations')?.message).to.include(`1 migration of this version missing, from ${name} on`)
      expect(code).to.equal(1)
    })

    it('reports an index that a failed statement has left invalid', async () => {
      await withClient(app.databaseUrl, async (client) => {
        const build = client.query('create unique index concurrently broken_idx on contacts (tenant_id)')
        expect(await build.catch((error: Error) => error.message)).to.match(/could not create unique index/)
      })
      const { results } = await doctor()
      await app.system.db.raw('drop index broken_idx')
      expect(results.get('indexes')).to.include({ status: 'problem' })
      expect(results.get('indexes')?.message).to.include('broken_idx')
    })

    it('reports a kept number that differs from the rows, and corrects it with --repair counts', async () => {
      const wrong = `update kept_counts set count = count + 7 where counter = 'contacts' and owner_id = '${workspace.tenantId}'`
      await app.system.db.raw(wrong)
      const { results } = await doctor()
      expect(results.get('counts')).to.include({ status: 'problem' })
      expect(results.get('counts')?.message).to.include('contacts: 9 instead of 2')
      const repaired = (await doctor({}, '--repair', 'counts')).results
      expect(repaired.get('repair')?.message).to.equal('Recounted 1 workspace')
      expect(repaired.get('counts')?.status).to.equal('ok')
      expect((await workspace.call('GET', '/api/contacts')).total).to.equal(2)
    })

    it('reports stored secrets that another key has encrypted', async () => {
      const { results } = await doctor({ SECRET_KEY: 'cd'.repeat(32) })
      expect(results.get('secrets')).to.include({ status: 'problem' })
      expect(results.get('secrets')?.message).to.include('1 of 1 of channels')
    })

    it('reports work that has been due for more than a minute although processes are connected', async () => {
      const mailbox = { mailbox_kind: 'run', mailbox_id: newId(), kind: 'signal', payload: '{}' }
      const at = addMs(new Date(), -5.5 * MINUTE)
      const id = newId()
      await app.system
        .db('mailbox_items')
        .insert({ tenant_id: workspace.tenantId, id, ...mailbox, due_at: at, created_at: at })
      const { results } = await doctor()
      await app.system.db('mailbox_items').where({ id }).delete()
      expect(results.get('due-work')).to.include({ status: 'problem' })
      expect(results.get('due-work')?.message).to.include('mailbox item: 1 row, due for 5 minutes')
    })

    it('warns of more connections than the server allows', async () => {
      const { results } = await doctor({ DB_REQUESTS_CONNECTIONS: '200' })
      expect(results.get('connections')).to.include({ status: 'problem' })
      expect(results.get('connections')?.message).to.match(/need \d+ connections\. 197 are allowed/)
    })

    it('reports a Redis and a bucket that do not answer, and goes on with the other checks', async () => {
      const { results } = await doctor({
        REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
        S3_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
        S3_BUCKET: 'parley',
        S3_ACCESS_KEY_ID: 'key',
        S3_SECRET_ACCESS_KEY: 'secret',
      })
      expect(results.get('redis')?.status).to.equal('problem')
      expect(results.get('files')?.message).to.match(/^The bucket parley cannot be used/)
      expect(results.get('version')?.status).to.equal('ok')
    })

    it('warns of a Redis that may drop what it stores', async function () {
      const redis = await startRedis()
      if (!redis) this.skip()
      try {
        expect((await doctor({ REDIS_URL: redis.url })).results.get('redis')?.status).to.equal('ok')
        const { createClient } = await import('redis')
        const client = createClient({ url: redis.url })
        await client.connect()
        await client.configSet('maxmemory-policy', 'allkeys-lru')
        await client.close()
        const { results } = await doctor({ REDIS_URL: redis.url })
        expect(results.get('redis')).to.include({ status: 'warning' })
        expect(results.get('redis')?.message).to.include('allkeys-lru')
      } finally {
        await redis.stop()
      }
    })

    it('warns of a proxy without public names', async () => {
      const { results } = await doctor({ TRUSTED_PROXIES: '10.0.0.0/8' })
      expect(results.get('public-url')).to.include({ status: 'warning' })
    })

    it('reports a database that cannot be reached, with the other checks', async () => {
      const { code, results } = await doctor({ DATABASE_URL: `postgres://parley@127.0.0.1:${await freePort()}/parley` })
      expect(results.get('database')?.message).to.match(/^DATABASE_URL: no server accepts connections/)
      expect(results.get('files')?.status).to.equal('ok')
      expect(code).to.equal(1)
    })

    it('refuses what it cannot repair with exit code 2', async () => {
      const { code, stderr } = await runParley(['doctor', '--repair', 'indexes'], {})
      expect({ code, reason: stderr.split('\n')[0] }).to.deep.equal({
        code: 2,
        reason: '"indexes" cannot be repaired. Use --repair counts',
      })
    })
  })

  describe('of what could not be processed', () => {
    let app: TestApp

    before(async () => {
      app = await startTestApp()
    })

    after(() => app.stop())

    it('reports dead letters', async () => {
      const workspace = await buildWorkspace(app)
      await buildWorkflow(workspace, { steps: [say('answer', 'Hi')] })
      await deadLetterMessage(workspace, { body: 'Hello' })
      const { code, results } = await runDoctor({ DATABASE_URL: app.databaseUrl, DATA_DIR: app.dataDir })
      expect(results.get('dead-letters')).to.include({ status: 'problem' })
      expect(results.get('dead-letters')?.message).to.match(/^1 dead letter:/)
      expect(code).to.equal(1)
    })

    it('warns of messages whose delivery is unknown', async () => {
      const workspace = await buildWorkspace(app)
      await buildWorkflow(workspace, { steps: [say('answer', 'Hi')] })
      await workspace.call('POST', '/api/sandbox/messages', { phone: '+4915112345678', body: 'Hello' })
      await app.work()
      await app.system
        .db('messages')
        .where({ tenant_id: workspace.tenantId, direction: 'outbound' })
        .update({ status: 'failed', error: JSON.stringify({ code: 'delivery_unknown' }) })
      const { results } = await runDoctor({ DATABASE_URL: app.databaseUrl, DATA_DIR: app.dataDir })
      expect(results.get('unknown-deliveries')).to.include({ status: 'warning' })
      expect(results.get('unknown-deliveries')?.message).to.match(/^The delivery of 1 message is unknown/)
    })
  })
})
