import { expect } from 'chai'
import pg from 'pg'
import { getSandboxId } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildFilledWorkspace } from '../../support/filled-workspace.ts'
import { type RecordedStatement, recordStatements } from '../../support/statements.ts'
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

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Plan Rows'?: number
  'Actual Rows'?: number
  'Actual Loops'?: number
  Plans?: Plan[]
}

/** Counting at least this many rows of the only workspace may read the table: that costs less than an index of all of them. */
const MANY_ROWS = CONTACTS / 10

function listSequentialScans({ Plans = [], ...node }: Plan, isInCount = false): string[] {
  const table = node['Relation Name'] ?? ''
  const isCheapest = isInCount && (node['Plan Rows'] ?? 0) >= MANY_ROWS
  const own = node['Node Type'] === 'Seq Scan' && GROWING.includes(table) && !isCheapest ? [table] : []
  const counts = isInCount || node['Node Type'] === 'Aggregate'
  return [...own, ...Plans.flatMap((plan) => listSequentialScans(plan, counts))]
}

/** Returns how many rows of growing tables are read. */
function countRead({ Plans = [], ...node }: Plan): number {
  const isGrowing = GROWING.includes(node['Relation Name'] ?? '')
  const own = isGrowing ? (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 0) : 0
  return Plans.reduce((sum, plan) => sum + countRead(plan), own)
}

describe('statements of lists in a workspace with many rows', function () {
  this.timeout(180_000)
  let app: TestApp
  let workspace: WorkspaceClient
  let database: pg.Client
  let lists: string[]

  before(async () => {
    app = await startTestApp()
    database = new pg.Client({ connectionString: app.databaseUrl })
    await database.connect()
    const filled = await buildFilledWorkspace(app, database, CONTACTS)
    const { workflow, broadcast } = filled
    workspace = filled.workspace
    const { userId } = workspace
    const channelId = await getSandboxId(workspace)
    await database.query('vacuum analyze')
    const [contact] = (await workspace.call('GET', '/api/contacts')).items
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
      '/api/contacts?q=0000042',
      '/api/contacts?q=0151%2010000004',
      '/api/contacts?phone=%2B49151100000042',
      '/api/contacts?sort=-name&limit=5',
      '/api/contacts?q=silva',
      '/api/contacts?q=silva&tag=common&sort=name',
      '/api/contacts?tag=rare',
      '/api/contacts?tag=common',
      `/api/contacts?groupId=${group.id}&tag=common`,
      `/api/contacts?groupId=${group.id}`,
      `/api/groups/${group.id}/contacts?offset=900`,
      '/api/groups',
      '/api/tags',
      '/api/conversations',
      '/api/conversations?offset=5000',
      '/api/conversations?offset=5000&sort=lastMessageAt',
      '/api/conversations?unread=true',
      '/api/conversations?unread=false',
      '/api/conversations?status=active',
      '/api/conversations?status=closed&sort=lastMessageAt',
      `/api/conversations?assigneeId=${userId}`,
      `/api/conversations?assigneeId=${userId}&status=active&unread=true`,
      `/api/conversations?contactId=${contact.id}`,
      `/api/conversations?channelId=${channelId}`,
      '/api/conversations?windowOpen=false',
      '/api/conversations?windowOpen=true',
      '/api/runs',
      '/api/runs?offset=10000',
      '/api/runs?offset=19900',
      '/api/runs?status=failed,waiting',
      '/api/runs?waitingFor=timer',
      '/api/runs?sort=createdAt',
      '/api/runs?status=completed&createdAfter=2020-01-01T00:00:00Z',
      '/api/runs?createdBefore=2020-01-01T00:00:00Z',
      `/api/runs?contactId=${contact.id}`,
      `/api/runs?conversationId=${contact.id}`,
      `/api/runs?replayOf=${contact.id}`,
      `/api/runs?workflowId=${workflow.id}`,
      `/api/broadcasts/${broadcast.id}/recipients`,
      `/api/broadcasts/${broadcast.id}/recipients?offset=10000`,
      `/api/broadcasts/${broadcast.id}/recipients?offset=19900`,
      `/api/broadcasts/${broadcast.id}/recipients?status=failed&offset=500`,
    ]
  })

  after(async () => {
    await database.end()
    await app.stop()
  })

  /** A prepared statement is executed with a plan for its values, or with one for all values if that is expected to be as good. */
  async function assertNoSequentialScan(list: string, { text, values, name }: RecordedStatement) {
    const plans = [
      database.query({ text: `explain (format json) ${text}`, values: Array.isArray(values) ? values : [] }),
    ]
    if (name !== undefined) plans.push(database.query(`explain (generic_plan, format json) ${text}`))
    for (const { rows } of await Promise.all(plans)) {
      const [{ Plan: plan }] = rows[0]['QUERY PLAN']
      expect(listSequentialScans(plan), `${list}: ${text}`).to.deep.equal([])
    }
  }

  it('scan no growing table sequentially, for any list, filter, search, order and depth', async () => {
    for (const list of lists) {
      const statements = await recordStatements(() => workspace.call('GET', list))
      expect(statements.length, list).to.be.greaterThan(0)
      for (const statement of statements) await assertNoSequentialScan(list, statement)
    }
  })

  it('read few rows for a page near the end of a list whose number of rows is kept by triggers', async () => {
    const { items: groups } = await workspace.call('GET', '/api/groups')
    const all = groups.find(({ name }: { name: string }) => name === 'All')
    for (const [list, offset] of [
      ['/api/contacts?', CONTACTS - 20],
      ['/api/contacts?sort=createdAt&', CONTACTS - 20],
      ['/api/contacts?sort=name&', CONTACTS - 20],
      ['/api/contacts?tag=common&', CONTACTS / 3 - 20],
      ['/api/conversations?', CONTACTS / 2 - 20],
      ['/api/conversations?sort=lastMessageAt&', CONTACTS / 2 - 20],
      [`/api/groups/${all.id}/contacts?`, CONTACTS - 20],
    ] as const) {
      const statements = await recordStatements(() => workspace.call('GET', `${list}offset=${Math.floor(offset)}`))
      const page = statements.findLast(({ text }) => text.includes('as page_total'))
      const { rows } = await database.query({
        text: `explain (analyze, format json) ${page?.text}`,
        values: Array.isArray(page?.values) ? page.values : [],
      })
      const [{ Plan: plan }] = rows[0]['QUERY PLAN']
      expect(countRead(plan), list).to.be.within(1, 1000)
    }
  })
})
