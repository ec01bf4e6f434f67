import { expect } from 'chai'
import { down, TIMES, up } from '../../../migrations/20261124040100_bound_times_of_rows.ts'
import * as checkTimes from '../../../migrations/20261124040101_check_times_of_rows.ts'
import { sqlState } from '../../../src/platform/database/database.ts'
import { buildContact, buildConversation, buildTemplate, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CHECK_VIOLATION = '23514'
/** Times of Postgres that no date of JavaScript or ISO 8601 has. */
const OUTSIDE = ['infinity', '-infinity', '200000-01-01', '0044-03-15 BC']

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
    const tables: [string, string][] = [
      ['contacts', '/api/contacts'],
      ['conversations', '/api/conversations'],
      ['tags', '/api/tags'],
      ['templates', '/api/templates'],
      ['channels', '/api/channels'],
    ]
    for (const [table, path] of tables) {
      for (const column of TIMES.find(([name]) => name === table)?.[1] ?? []) {
        for (const time of OUTSIDE) {
          const state = await change(table, column, time).then(() => 'stored', sqlState)
          expect(state, `${table}.${column} = ${time}`).to.equal(CHECK_VIOLATION)
        }
        await change(table, column, '0001-01-01 00:00:00+00')
        expect(await change(table, column, '9999-12-31 23:59:59.999+00'), `${table}.${column}`).to.be.greaterThan(0)
      }
      expect((await workspace.request('GET', path)).status, path).to.equal(200)
    }
  })

  it('of before are moved into these years by the migration, and a time that is null stays null', async () => {
    const { id } = await buildContact(workspace)
    const { db } = app.system
    await down(db)
    await db('contacts').where({ tenant_id: workspace.tenantId, id }).update({ created_at: 'infinity' })
    await db('contacts').where({ tenant_id: workspace.tenantId, id }).update({ updated_at: '-infinity' })
    expect((await workspace.request('GET', `/api/contacts/${id}`)).status).to.equal(500)
    await up(db)
    await checkTimes.up(db)
    expect(await workspace.call('GET', `/api/contacts/${id}`)).to.include({
      createdAt: '9999-12-31T23:59:59.999Z',
      updatedAt: '0001-01-01T00:00:00.000Z',
      lastInboundAt: null,
    })
    const total = await workspace.call('GET', '/api/contacts')
    expect(total.items).to.have.length(total.total)
  })
})
