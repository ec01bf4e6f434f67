import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { createTasks, periodicTasks } from '../../../src/jobs.ts'
import { HOUR, MINUTE, SECOND } from '../../../src/platform/time.ts'
import { buildContact, buildWorkflow, buildWorkspace, getSandboxId, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel } from '../../support/broadcasts.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { pause, say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** A workspace with work of every kind, whose effects reach servers of its own. */
type Busy = { workspace: WorkspaceClient; cloud: FakeCloudApi; receiver: ScriptedServer; jobs: [string, string][] }

describe('work of a deleted workspace', () => {
  let app: TestApp
  let deleted: Busy
  let other: Busy

  beforeEach(async () => {
    // No worker does what a test has not asked for.
    app = await startTestApp({ ROLES: 'http', ALLOW_LOOPBACK_CHANNELS: 'true' })
    deleted = await buildBusy()
    other = await buildBusy()
  })

  afterEach(async () => {
    await app.stop()
    for (const { cloud, receiver } of [deleted, other]) await Promise.all([cloud.stop(), receiver.stop()])
  })

  async function buildBusy(): Promise<Busy> {
    const workspace = await buildWorkspace(app)
    const { tenantId } = workspace
    const cloud = await FakeCloudApi.start({ clock: app.clock })
    const receiver = await ScriptedServer.start()
    receiver.replyWith(json({}))
    const { channelId, templateId } = await buildBroadcastChannel(workspace, cloud, { body: 'Hello' })
    const sandboxId = await getSandboxId(workspace)
    const call = { id: 'call', type: 'http', url: `${receiver.url}/step` }
    const schedule = { type: 'schedule', cron: '*/5 * * * *' }
    await buildWorkflow(workspace, {
      triggers: [{ type: 'message_received', match: { mode: 'any' } }, schedule],
      steps: [say('hello'), pause('soon'), call],
    })
    await sendAsCustomer(workspace, { body: 'waits' })
    await createTasks(app.system)['advance']?.({ task: 'advance', tenantId, key: tenantId })
    const audience = { contactIds: [(await buildContact(workspace)).id] }
    const broadcast = await workspace.call('POST', '/api/broadcasts', { name: 'B', templateId, audience })
    await workspace.call('POST', `/api/broadcasts/${broadcast.id}/schedule`, { at: '2026-03-02T10:10:00Z' })
    const endpoint = await workspace.call('POST', '/api/webhook-endpoints', { url: `${receiver.url}/events` })
    await sendAsCustomer(workspace, { body: 'unanswered' })
    const jobs: [string, string][] = [
      ...['advance', 'run-jobs', 'execute', 'fetch-media'].map((task): [string, string] => [task, tenantId]),
      ...['deliver', 'broadcast'].map((task): [string, string] => [task, channelId]),
      ['deliver', sandboxId],
      ['deliver-webhooks', endpoint.id],
    ]
    return { workspace, cloud, receiver, jobs }
  }

  async function remove({ workspace }: Busy): Promise<void> {
    const { name } = await workspace.call('GET', '/api/workspace')
    await workspace.call('DELETE', `/api/workspace?name=${encodeURIComponent(name)}`)
  }

  /** Does all that workers do in an hour, for both workspaces. `forgets`: no process knows of the deletion. */
  async function workForAnHour({ forgets }: { forgets: boolean }): Promise<void> {
    const tasks = createTasks(app.system)
    for (const ms of [0, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, SECOND, HOUR]) {
      app.clock.advance(ms)
      if (forgets) await app.system.deletedWorkspaces.refresh(() => Promise.resolve([]))
      for (const { name, run } of periodicTasks(app.system)) if (name !== 'purge deleted workspaces') await run()
      for (let round = 0; round < 2; round += 1) {
        for (const { workspace, jobs } of [deleted, other]) {
          const { tenantId } = workspace
          for (const [task, key] of jobs) await tasks[task]?.({ task, tenantId, key })
        }
      }
    }
  }

  /** Rows that show progress. */
  async function readProgress({ workspace }: Busy, tables: string[]): Promise<unknown[]> {
    const rows = []
    for (const table of tables) {
      const { rows: found } = await app.system.db.raw<{ rows: object[] }>(
        `select to_jsonb(t) as row from ${table} t where tenant_id = ? order by to_jsonb(t)::text`,
        [workspace.tenantId],
      )
      rows.push([table, found])
    }
    return rows
  }

  const countEffects = ({ cloud, receiver }: Busy) => [
    cloud.accepted.length,
    receiver.calls.filter(({ url }) => url === '/step').length,
    receiver.calls.filter(({ url }) => url === '/events').length,
  ]

  /** Works for an hour, in which the other workspace has effects and the deleted one none. */
  async function expectNothingDone(tables: string[], { forgets }: { forgets: boolean }): Promise<void> {
    const before = await readProgress(deleted, tables)
    await workForAnHour({ forgets })
    expect(await readProgress(deleted, tables)).to.deep.equal(before)
    expect(countEffects(deleted)).to.deep.equal([0, 0, 0])
    for (const count of countEffects(other)) expect(count).to.be.above(0)
  }

  it('is left as it is: runs, messages, timers, schedules, broadcasts, events and counts', async () => {
    await remove(deleted)
    const tables = ['runs', 'run_waits', 'mailbox_items', 'outbox', 'messages', 'schedules', 'broadcasts', 'events']
    tables.push('kept_counts', 'kept_count_deltas', 'external_calls', 'webhook_endpoints', 'webhook_deliveries')
    await expectNothingDone(tables, { forgets: false })
  })

  it('is not claimed by a process that knows nothing of the deletion', async () => {
    await remove(deleted)
    const tables = ['runs', 'run_steps', 'run_waits', 'mailbox_items', 'outbox', 'messages', 'schedules', 'broadcasts']
    tables.push('external_calls', 'webhook_endpoints', 'webhook_deliveries', 'jobs', 'dead_letters')
    await expectNothingDone(tables, { forgets: true })
  })
})
