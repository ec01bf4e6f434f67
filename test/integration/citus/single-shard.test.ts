import { expect } from 'chai'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { CITUS_URL } from '../../support/postgres.ts'

/** The notices of which test/support/statements.ts makes failures, for every statement of the application in all tests. */
describe('a distributed database reports', () => {
  let app: TestApp
  let tenantId: string

  before(async function () {
    if (CITUS_URL === undefined) this.skip()
    app = await startTestApp({ ROLES: 'http' })
    tenantId = (await buildWorkspace(app)).tenantId
  })

  after(() => (CITUS_URL === undefined ? undefined : app.stop()))

  async function listNotices(sql: string, values: unknown[]): Promise<string[]> {
    const notices: string[] = []
    await withClient(app.databaseUrl, async (client) => {
      client.on('notice', ({ message }) => notices.push(message ?? ''))
      await client.query(sql, values)
    })
    return notices.filter((message) => /multi-task query|will be sent to/.test(message))
  }

  it('a statement without the workspace, which it sends to several nodes', async () => {
    expect(await listNotices('select count(*) from contacts where id = $1', [tenantId])).to.have.length.above(0)
    expect(await listNotices('select count(*) from contacts where tenant_id = $1', [tenantId])).to.deep.equal([])
  })

  it('rows that two parts of a statement share, which it sends to all nodes', async () => {
    const insert = (cte: string) => `with input as ${cte} (
        select * from jsonb_to_recordset($2::jsonb) as x (counter text, owner_id uuid)),
      added as (
        insert into kept_counts (tenant_id, counter, owner_id, key, count) select $1::uuid, counter, owner_id, '', 0 from input
        on conflict (tenant_id, counter, owner_id, key) do nothing)
      insert into kept_count_deltas (tenant_id, counter, owner_id, key, delta) select $1::uuid, counter, owner_id, '', 0 from input`
    const values = [tenantId, JSON.stringify([{ counter: 'contacts', owner_id: tenantId }])]
    expect(await listNotices(insert('materialized'), values)).to.have.length.above(1)
    expect(await listNotices(insert('not materialized'), values)).to.deep.equal([])
  })
})
