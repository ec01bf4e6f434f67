import { expect } from 'chai'
import pg from 'pg'
import { fillWorkspace } from '../../../bench/fill-workspace.ts'
import { buildTemplate, buildWorkflow, buildWorkspace, getSandboxId, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { recordStatements } from '../../support/statements.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CONTACTS = 20_000
/** Tables that grow with what customers write. */
const GROWING = [
  'contacts',
  'conversations',
  'messages',
  'runs',
  'contact_tags',
  'group_contacts',
  'broadcast_recipients',
]

type Plan = { 'Node Type': string; 'Relation Name'?: string; Plans?: Plan[] }

function listSequentialScans({ Plans = [], ...node }: Plan): string[] {
  const table = node['Relation Name'] ?? ''
  const own = node['Node Type'] === 'Seq Scan' && GROWING.includes(table) ? [table] : []
  return [...own, ...Plans.flatMap(listSequentialScans)]
}

describe('statements of lists in a workspace with many rows', function () {
  this.timeout(180_000)
  let app: TestApp
  let workspace: WorkspaceClient
  let database: pg.Client
  let lists: string[]

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    const workflow = await buildWorkflow(workspace, {
      steps: [{ id: 'a', type: 'send_message', message: { body: 'Hi' } }],
    })
    await sendAsCustomer(workspace)
    await app.work()
    const template = await buildTemplate(workspace, { channelId: await getSandboxId(workspace) })
    const broadcast = await workspace.call('POST', '/api/broadcasts', { name: 'All', templateId: template.id })
    database = new pg.Client({ connectionString: app.databaseUrl })
    await database.connect()
    const { tenantId } = workspace
    const { userId } = workspace
    await fillWorkspace(database, {
      tenantId,
      userId,
      broadcastId: broadcast.id,
      contacts: CONTACTS,
      now: app.clock.now(),
    })
    await database.query('vacuum analyze')
    const [group] = (await workspace.call('GET', '/api/groups')).items
    lists = [
      '/api/contacts',
      '/api/contacts?sort=name',
      '/api/contacts?sort=-createdAt&offset=10000',
      '/api/contacts?q=zzzyx',
      '/api/contacts?q=zz',
      '/api/contacts?q=person77@',
      '/api/contacts?q=%2B4915110000004',
      '/api/contacts?q=crm-77',
      '/api/contacts?phone=%2B49151100000042',
      '/api/contacts?tag=rare',
      `/api/contacts?groupId=${group.id}`,
      `/api/groups/${group.id}/contacts?offset=900`,
      '/api/groups',
      '/api/tags',
      '/api/conversations',
      '/api/conversations?offset=5000',
      '/api/conversations?unread=true',
      `/api/conversations?assigneeId=${userId}&status=active&unread=true`,
      '/api/conversations?windowOpen=true',
      '/api/runs',
      '/api/runs?offset=10000',
      '/api/runs?status=failed,waiting',
      '/api/runs?waitingFor=timer',
      `/api/runs?workflowId=${workflow.id}`,
      `/api/broadcasts/${broadcast.id}/recipients`,
      `/api/broadcasts/${broadcast.id}/recipients?status=failed&offset=500`,
    ]
  })

  after(async () => {
    await database.end()
    await app.stop()
  })

  it('scan no growing table sequentially, for any list, filter, search, order and depth', async () => {
    for (const list of lists) {
      const statements = await recordStatements(() => workspace.call('GET', list))
      expect(statements.length, list).to.be.greaterThan(0)
      for (const { text, values } of statements) {
        const { rows } = await database.query({
          text: `explain (format json) ${text}`,
          values: Array.isArray(values) ? values : [],
        })
        const [{ Plan: plan }] = rows[0]['QUERY PLAN']
        expect(listSequentialScans(plan), `${list}: ${text}`).to.deep.equal([])
      }
    }
  })
})
