import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { recount, rollUpCounts } from '../../../src/features/counts/maintain-counts.ts'
import { newId } from '../../../src/platform/ids.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildFilledWorkspace } from '../../support/filled-workspace.ts'
import { IS_SHOWN_RUN } from '../../support/queries.ts'
import { createRandom } from '../../support/random.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CONTACTS = 60
const STEPS = 60
const RUN_STATUSES = ['queued', 'running', 'waiting', 'completed', 'failed', 'canceled', 'expired']
const STATUSES = ['pending', 'sending', 'sent', 'delivered', 'read', 'failed', 'skipped', 'canceled', 'unknown']

describe('runs and recipients that other programs write', function () {
  this.timeout(120_000)
  let app: TestApp
  let psql: pg.Client

  before(async () => {
    app = await startTestApp()
    psql = new pg.Client({ connectionString: app.databaseUrl })
    await psql.connect()
  })

  after(async () => {
    await psql.end()
    await app.stop()
  })

  type Filled = { workspace: WorkspaceClient; workflowIds: string[]; broadcastIds: string[]; templateId: string }

  async function build(): Promise<Filled> {
    const { workspace, workflow, broadcast, template } = await buildFilledWorkspace(app, psql, CONTACTS)
    const { tenantId } = workspace
    const versions = `insert into workflow_versions select (jsonb_populate_record(v, '{"version": 2}')).*
      from workflow_versions v where tenant_id = $1`
    await psql.query(versions, [tenantId])
    return { workspace, workflowIds: [workflow.id], broadcastIds: [broadcast.id], templateId: template.id }
  }

  async function createBroadcast({ workspace, templateId, broadcastIds }: Filled): Promise<void> {
    const { id } = await workspace.call('POST', '/api/broadcasts', { name: 'Next', templateId })
    broadcastIds.push(id)
  }

  /** The rows of recipients as COPY reads them. */
  async function copyRecipients({ workspace: { tenantId }, broadcastIds }: Filled, status: string): Promise<void> {
    const columns = 'tenant_id, id, broadcast_id, contact_id, address, status, accepted_count, created_at, updated_at'
    const lines = Array.from({ length: 7 }, (_, index) => {
      const values = [tenantId, newId(), broadcastIds.at(-1), newId(), newId(), status, index % 2, 'now', 'now']
      return `${values.join('\t')}\n`
    })
    const copy = psql.query(copyFrom(`copy broadcast_recipients (${columns}) from stdin`))
    await pipeline(Readable.from(lines), copy)
  }

  async function query(sql: string, { workspace }: Filled, values: unknown[] = []): Promise<void> {
    await psql.query(sql, [workspace.tenantId, ...values])
  }

  async function expectExact({ workspace, workflowIds, broadcastIds }: Filled): Promise<void> {
    const { tenantId } = workspace
    const count = async (sql: string, values: unknown[] = []): Promise<number> =>
      (await psql.query<{ n: number }>(`select count(*)::int as n from ${sql}`, [tenantId, ...values])).rows[0]?.n ?? 0
    const readTotal = async (path: string) => (await workspace.call('GET', path)).total
    const shownRuns = `runs where tenant_id = $1 and ${IS_SHOWN_RUN}`
    expect(await readTotal('/api/runs?limit=1')).to.equal(await count(shownRuns))
    for (const status of RUN_STATUSES) {
      const counted = await count(`${shownRuns} and status = $2`, [status])
      expect(await readTotal(`/api/runs?limit=1&status=${status}`), status).to.equal(counted)
    }
    for (const id of workflowIds) {
      for (const version of [1, 2]) {
        const counted = await count(`${shownRuns} and workflow_id = $2 and workflow_version = $3`, [id, version])
        expect(await readTotal(`/api/runs?limit=1&workflowId=${id}&version=${version}`)).to.equal(counted)
      }
    }
    for (const id of broadcastIds) {
      const isOfBroadcast = 'broadcast_recipients where tenant_id = $1 and broadcast_id = $2'
      const { counts } = await workspace.call('GET', `/api/broadcasts/${id}`)
      const expected: Record<string, number> = {
        total: await count(isOfBroadcast, [id]),
        accepted: await count(`${isOfBroadcast} and accepted_count > 0`, [id]),
        replied: await count(`${isOfBroadcast} and replied_at is not null`, [id]),
        optedOut: await count(`${isOfBroadcast} and opted_out_at is not null`, [id]),
      }
      for (const status of STATUSES) expected[status] = await count(`${isOfBroadcast} and status = $3`, [id, status])
      expect(counts).to.deep.equal(expected)
      const path = `/api/broadcasts/${id}/recipients?limit=1`
      expect(await readTotal(path)).to.equal(expected['total'])
      expect(await readTotal(`${path}&status=failed`)).to.equal(expected['failed'])
      expect((await workspace.call('GET', `/api/broadcasts/${id}/report`)).countsAddUp).to.equal(true)
    }
  }

  for (const seed of [1, 2, 3]) {
    it(`are in all numbers at once after any sequence of writers, also while they are rolled up (seed ${seed})`, async () => {
      const random = createRandom(seed)
      const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)]
      const filled = await build()
      const { tenantId } = filled.workspace
      const some = (table: string) =>
        `tenant_id = $1 and id in (select id from ${table} where tenant_id = $1 order by md5(id::text || $2) limit 9)`
      const token = () => String(random())
      const copiedRuns = `select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(),
        'trigger_event_id', gen_random_uuid(), 'status', $2::text))).* from runs r where tenant_id = $1 limit 5`
      const writers = [
        () => query(`insert into runs ${copiedRuns}`, filled, [pick(RUN_STATUSES)]),
        () => query(`update runs set status = $3 where ${some('runs')}`, filled, [token(), pick(RUN_STATUSES)]),
        () => query(`update runs set workflow_version = 2 where ${some('runs')}`, filled, [token()]),
        () => query(`update runs set steps_count = steps_count + 1 where tenant_id = $1`, filled),
        () =>
          query(
            `insert into runs select * from runs where ${some('runs')}
             on conflict (tenant_id, id) do update set status = $3`,
            filled,
            [token(), pick(RUN_STATUSES)],
          ),
        async () => {
          const status = pick(RUN_STATUSES) ?? ''
          await app.system
            .db('runs')
            .where({ tenant_id: tenantId, status: pick(RUN_STATUSES) })
            .update({ status })
        },
        async () => {
          await query('update messages set run_id = null where tenant_id = $1', filled)
          await query(`delete from runs where ${some('runs')}`, filled, [token()])
        },
        () => query(`delete from contacts where ${some('contacts')}`, filled, [token()]),
        () => createBroadcast(filled),
        () => copyRecipients(filled, pick(STATUSES) ?? ''),
        () =>
          query(
            `update broadcast_recipients set status = $3, accepted_count = (accepted_count + 1) % 3,
               replied_at = case when replied_at is null then updated_at end, opted_out_at = replied_at
             where ${some('broadcast_recipients')}`,
            filled,
            [token(), pick(STATUSES)],
          ),
        () => query(`delete from broadcast_recipients where ${some('broadcast_recipients')}`, filled, [token()]),
        async () => {
          const [first = '', ...others] = filled.broadcastIds
          const id = pick(others)
          if (id === undefined) return
          await query('delete from broadcasts where tenant_id = $1 and id = $2', filled, [id])
          filled.broadcastIds.splice(0, Infinity, first, ...others.filter((other) => other !== id))
        },
        async () => {
          await psql.query('begin')
          await query('update runs set status = $2 where tenant_id = $1', filled, ['expired'])
          await query('delete from broadcast_recipients where tenant_id = $1', filled)
          await psql.query('rollback')
        },
        () => rollUpCounts(app.system),
        () => recount(app.system.db, tenantId),
      ]
      for (let step = 0; step < STEPS; step += 1) {
        await Promise.all([pick(writers)?.(), random() < 0.5 ? rollUpCounts(app.system) : undefined])
        if (step % 6 === 5) await expectExact(filled)
      }
      await rollUpCounts(app.system)
      await expectExact(filled)
      await query('update messages set run_id = null where tenant_id = $1', filled)
      await query('delete from runs where tenant_id = $1', filled)
      await query('delete from workflows where tenant_id = $1', filled)
      await expectExact({ ...filled, workflowIds: [] })
      await query('delete from broadcasts where tenant_id = $1', filled)
      await rollUpCounts(app.system)
      const left = app.system
        .db('kept_counts')
        .where({ tenant_id: tenantId })
        .whereIn('counter', ['runs', 'recipients'])
      expect(await left.whereNot('owner_id', tenantId)).to.deep.equal([])
    })
  }
})
