import { expect } from 'chai'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { runDoctor } from '../../support/parley-command.ts'
import { CITUS_URL } from '../../support/postgres.ts'

const CHECKS = ['citus-nodes', 'citus-settings', 'citus-shards', 'citus-transactions']

describe('parley doctor on a distributed database', function () {
  this.timeout(180_000)
  let app: TestApp

  before(async function () {
    if (CITUS_URL === undefined) this.skip()
    app = await startTestApp({ ROLES: 'http' })
    await buildWorkspace(app)
  })

  after(() => (CITUS_URL === undefined ? undefined : app.stop()))

  const doctor = async () => (await runDoctor({ DATABASE_URL: app.databaseUrl, DATA_DIR: app.dataDir })).results

  it('finds the nodes and shards, and no wrong counts where none are kept', async () => {
    const results = await doctor()
    expect(results.get('citus-nodes')?.message).to.match(/^3 nodes of Citus [\d.]+ answer$/)
    expect(results.get('citus-shards')?.message).to.match(/^Shards by node: /)
    expect(results.get('citus-transactions')?.status).to.equal('ok')
    for (const check of ['counts', 'due-work', 'dead-letters', 'secrets', 'unknown-deliveries', 'indexes'])
      expect(results.get(check)?.status, results.get(check)?.message).to.equal('ok')
  })

  it('warns of the connections that idle workers open, until they are limited', async () => {
    expect((await doctor()).get('citus-settings')?.message).to.include('max_adaptive_executor_pool_size = 1 (it is 16)')
    const walLevel = await withClient(app.databaseUrl, async (client) => {
      const { rows } = await client.query<{ name: string; walLevel: string }>(
        `select current_database() as name, current_setting('wal_level') as "walLevel"`,
      )
      await client.query(`alter database ${rows[0]?.name} set citus.max_adaptive_executor_pool_size = 1`)
      return rows[0]?.walLevel
    })
    const results = await doctor()
    expect(results.get('citus-settings')?.message).not.to.include('max_adaptive_executor_pool_size')
    // The servers of the cluster are started with it.
    const isComplete = walLevel === 'logical'
    const notOk = CHECKS.filter((check) => results.get(check)?.status !== 'ok')
    expect(notOk).to.deep.equal(isComplete ? [] : ['citus-settings'])
  })

  it('reports a node that does not answer', async () => {
    await withClient(app.databaseUrl, async (client) => {
      const node = `(select max(nodeport) from pg_dist_node where groupid > 0)`
      await client.query('set citus.enable_metadata_sync = off')
      await client.query(`update pg_dist_node set nodeport = 1 where nodeport = ${node}`)
    })
    const results = await doctor()
    expect(results.get('citus-nodes')).to.include({ status: 'problem' })
    expect(results.get('citus-nodes')?.message).to.match(/^Nodes do not answer: \S+:1\./)
    expect(results.get('version')?.status).to.equal('ok')
  })
})
