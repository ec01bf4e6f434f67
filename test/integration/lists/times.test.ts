import { expect } from 'chai'
import { sqlState } from '../../../src/platform/database/database.ts'
import { buildContact, buildConversation, buildTemplate, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CHECK_VIOLATION = '23514'
/** Times of Postgres that no date of JavaScript or ISO 8601 has. */
const OUTSIDE = ['infinity', '-infinity', '200000-01-01', '0044-03-15 BC']

/** The times by which lists order rows, or which they show and other programs write. */
const TIMES = {
  contacts: ['last_inbound_at', 'last_outbound_at', 'created_at', 'updated_at'],
  conversations: ['last_message_at', 'last_inbound_at', 'window_expires_at', 'created_at', 'updated_at'],
  tags: ['created_at', 'updated_at'],
  templates: ['created_at', 'updated_at'],
  channels: ['created_at', 'updated_at'],
}

describe('times of rows that other programs write', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const change = (table: string, column: string, time: string) =>
    app.system.db(table).where('tenant_id', workspace.tenantId).update(column, time)

  it('are refused by the database unless their year is from 1 to 9999', async () => {
    await buildContact(workspace, { tags: ['vip'] })
    await buildConversation(workspace)
    await buildTemplate(workspace)
    for (const [table, columns] of Object.entries(TIMES)) {
      for (const column of columns) {
        for (const time of OUTSIDE) {
          const state = await change(table, column, time).then(() => 'stored', sqlState)
          expect(state, `${table}.${column} = ${time}`).to.equal(CHECK_VIOLATION)
        }
        await change(table, column, '0001-01-01 00:00:00+00')
        expect(await change(table, column, '9999-12-31 23:59:59.999+00'), `${table}.${column}`).to.be.greaterThan(0)
      }
      expect((await workspace.request('GET', `/api/${table}`)).status, table).to.equal(200)
    }
  })
})
