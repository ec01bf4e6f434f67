import { expect } from 'chai'
import pg from 'pg'
import { enqueueDueMailboxes } from '../../../src/features/automation/jobs.ts'
import { enqueueDueCalls } from '../../../src/features/external-calls/call-queue.ts'
import { reconcileOutbox } from '../../../src/features/outbound/reconcile-outbox.ts'
import type { SystemScope } from '../../../src/scope/system-scope.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { testCluster } from '../../support/postgres.ts'
import { recordStatements } from '../../support/statements.ts'

const WAITING = 20_000

/** A search across workspaces, and a statement that adds rows which are not due for a month. */
const SEARCHES: [table: string, search: (system: SystemScope) => Promise<void>, fill: string][] = [
  [
    'mailbox_items',
    enqueueDueMailboxes,
    `insert into mailbox_items (tenant_id, mailbox_kind, mailbox_id, id, kind, payload, due_at, created_at)
     select t.id, 'conversation', gen_random_uuid(), gen_random_uuid(), 'message', '{}', now() + interval '1 month', now()
     from (select id from workspaces limit 1) t, generate_series(1, ${WAITING})`,
  ],
  [
    'outbox',
    reconcileOutbox,
    `insert into outbox (tenant_id, channel_id, conversation_id, message_id, not_before, created_at)
     select t.id, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now() + interval '1 month', now()
     from (select id from workspaces limit 1) t, generate_series(1, ${WAITING})`,
  ],
  [
    'external_calls',
    enqueueDueCalls,
    `insert into external_calls (tenant_id, run_id, step_index, attempt, step_id, epoch, request, due_at, created_at)
     select t.id, gen_random_uuid(), 1, 1, 's', 1, '{}', now() + interval '1 month', now()
     from (select id from workspaces limit 1) t, generate_series(1, ${WAITING})`,
  ],
]

describe('search for what is due', function () {
  this.timeout(120_000)
  let app: TestApp
  let database: pg.Client

  before(async () => {
    app = await startTestApp()
    await buildWorkspace(app)
    const url = new URL((await testCluster()).adminUrl)
    url.pathname = new URL(app.databaseUrl).pathname
    database = new pg.Client({ connectionString: url.href })
    await database.connect()
  })

  after(async () => {
    await database.end()
    await app.stop()
  })

  for (const [table, search, fill] of SEARCHES) {
    it(`in ${table} reads none of the rows that are due later`, async () => {
      const statements = await recordStatements(() => search(app.system))
      expect(statements.map(({ text }) => text).join()).to.include(table)
      await database.query('begin')
      // The rows need no others, as none of them is processed.
      await database.query('set local session_replication_role = replica')
      await database.query(fill)
      await database.query(`analyze ${table}`)
      for (const { text, values } of statements.filter((statement) => statement.text.includes(table))) {
        const { rows } = await database.query({
          text: `explain (analyze, format json) ${text}`,
          values: Array.isArray(values) ? values : [],
        })
        expect(countRowsRead(rows[0]['QUERY PLAN'][0].Plan), text).to.equal(0)
      }
      await database.query('rollback')
    })
  }
})

type Plan = {
  'Relation Name'?: string
  'Actual Rows'?: number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

function countRowsRead({ Plans = [], ...node }: Plan): number {
  const own =
    node['Relation Name'] === undefined ? 0 : (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)
  return Plans.reduce((total, plan) => total + countRowsRead(plan), own)
}
