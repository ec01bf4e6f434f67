import { expect } from 'chai'
import { NodeClient } from '../../../src/platform/database/servers/node-client.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { CITUS_URL } from '../../support/postgres.ts'
import { createMember, type Member, readPort } from '../../support/transaction-members.ts'

describe('statements on the node of a workspace', () => {
  let app: TestApp
  let member: Member

  before(async function () {
    if (CITUS_URL === undefined) return this.skip()
    app = await startTestApp({ ROLES: 'http' })
    member = await createMember(app)
    // The first statements go to the coordinator, until the process knows the node.
    await readPort(member.scope)
  })

  after(() => (CITUS_URL === undefined ? undefined : app.stop()))

  it('are planned once, as those of the shard, if they are of one table', async () => {
    const { tenantId } = member.scope
    const url = new URL(app.databaseUrl)
    url.port = await readPort(member.scope)
    const client = new NodeClient({ connectionString: url.href })
    const notices: unknown[] = []
    client.on('notice', ({ message }) => notices.push(message))
    await client.connect()
    try {
      await client.query("set client_min_messages = 'debug2'")
      const text = 'select name from contacts where tenant_id = $1 and name <> $2'
      const { rows } = await client.query({ text, values: [tenantId, 'Nobody'] })
      expect(rows).to.have.length(1)
    } finally {
      await client.end()
    }
    expect(notices.join('\n')).to.include('created local execution plan')
  })

  it('have no plans of all values, which would go to every node, and leave those of foreign keys to the server', async () => {
    const { tenantId } = member.scope
    const readPlans = () =>
      member.scope.transaction(
        (tx) =>
          tx.sql<{ mode: string; names: number; query: string }>('readPlans')`
          select current_setting('plan_cache_mode') as mode, current_query() as query,
            array_length(array(select name from pg_prepared_statements), 1) as names
          from contacts where tenant_id = ${tx.tenantId} limit 1`,
      )
    for (let calls = 0; calls < 10; calls += 1) {
      const [plans] = await readPlans()
      expect(plans).to.deep.include({ mode: 'auto', names: null })
      expect(plans?.query).to.include(`tenant_id = '${tenantId}'`)
    }
  })
})
