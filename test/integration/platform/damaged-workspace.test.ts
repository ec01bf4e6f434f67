import { expect } from 'chai'
import { periodicTasks } from '../../../src/jobs.ts'
import { addMs, DAY, HOUR } from '../../../src/platform/time.ts'
import { buildChannel, buildConversation, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { postSigned } from '../../support/signed-webhook.ts'
import { pause } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** By table: which rows are work for a periodic task that goes through the workspaces. */
const LEFT: Record<string, string> = {
  run_waits: 'due_at <= :now',
  messages: 'release_at <= :now',
  outbox: 'leased_at is not null',
  kept_count_deltas: 'true',
  events: 'position is null',
  channel_webhooks: 'true',
}

describe('periodic tasks', function () {
  this.timeout(60_000)
  let app: TestApp

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
  })

  after(() => app.stop())

  type Started = { workspace: WorkspaceClient; conversationId: string }

  /** Workspaces with a run that waits. */
  async function buildWaitingWorkspaces(count: number): Promise<Started[]> {
    const worker = await startTestApp({ DATABASE_URL: app.databaseUrl, ROLES: 'worker' })
    const started: Started[] = []
    while (started.length < count) {
      const workspace = await buildWorkspace(app)
      await buildWorkflow(workspace, { steps: [pause('wait')] })
      const { id: conversationId } = await buildConversation(workspace)
      started.push({ workspace, conversationId })
    }
    await waitUntil(async () => (await app.system.db('run_waits').whereNotNull('due_at')).length === count)
    await worker.stop()
    return started
  }

  /** Gives a workspace work for each of the tasks, which is due in eight days. */
  async function giveWork({ workspace, conversationId: id }: Started): Promise<void> {
    const channel = await buildChannel(workspace)
    const call = '{"object":"whatsapp_business_account","entry":[]}'
    expect((await postSigned(workspace, channel, call)).status).to.equal(200)
    const sendAt = addMs(app.clock.now(), HOUR).toISOString()
    await workspace.call('POST', `/api/conversations/${id}/messages`, { body: 'later', sendAt })
    await workspace.call('POST', `/api/conversations/${id}/messages`, { body: 'now' })
    await app.system.db('outbox').where('tenant_id', workspace.tenantId).update({ leased_at: app.clock.now() })
  }

  /** Lets every change of the rows of these workspaces fail. */
  async function damage(workspaces: WorkspaceClient[]): Promise<void> {
    const ids = workspaces.map(({ tenantId }) => `'${tenantId}'`).join(', ')
    await app.system.db.raw(`
      create function fail_damaged() returns trigger language plpgsql as $$
      begin raise exception 'damaged'; end $$;
      ${Object.keys(LEFT)
        .map(
          (table) => `create trigger ${table}_damaged before update or delete on ${table} for each row
            when (old.tenant_id in (${ids})) execute function fail_damaged();`,
        )
        .join('')}`)
  }

  async function countLeft({ tenantId }: WorkspaceClient): Promise<Record<string, number>> {
    const left: Record<string, number> = {}
    for (const [table, condition] of Object.entries(LEFT)) {
      const { rows } = await app.system.db.raw<{ rows: unknown[] }>(
        `select from ${table} where tenant_id = :tenantId and ${condition}`,
        { tenantId, now: app.clock.now() },
      )
      left[table] = rows.length
    }
    return left
  }

  it('do the work of the other workspaces when some are damaged', async () => {
    const started = await buildWaitingWorkspaces(3)
    for (const each of started) await giveWork(each)
    const workspaces = started.map(({ workspace }) => workspace)
    app.clock.advance(8 * DAY)
    for (const workspace of workspaces) {
      for (const [table, count] of Object.entries(await countLeft(workspace))) expect(count, table).to.be.greaterThan(0)
    }
    const [first, healthy, last] = workspaces as [WorkspaceClient, WorkspaceClient, WorkspaceClient]
    await damage([first, last])
    for (const { run } of periodicTasks(app.system)) await run()
    for (const [table, count] of Object.entries(await countLeft(healthy))) expect(count, table).to.equal(0)
    for (const [table, count] of Object.entries(await countLeft(last))) expect(count, table).to.be.greaterThan(0)
  })
})
