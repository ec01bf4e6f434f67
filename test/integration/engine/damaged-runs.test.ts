import { expect } from 'chai'
import { SECOND } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { getRun, listRuns, listRunSteps, listSentBodies } from '../../support/queries.ts'
import { ask, pause, say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const on = (word: string) => [{ type: 'message_received', match: { mode: 'exact', values: [word] } }]

describe('run with corrupt state', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { triggers: on('nap'), steps: [pause('rest'), say('awake', 'Awake')] })
    await buildWorkflow(workspace, { triggers: on('ask'), steps: [ask('name'), say('thanks', 'Thanks')] })
    await buildWorkflow(workspace, { steps: [say('echo', '{{message.body}}!')] })
  })

  after(() => app.stop())

  async function startRun(phone: string, body: string): Promise<string> {
    const { conversationId } = await sendAsCustomer(workspace, { phone, body })
    await app.work()
    return conversationId
  }

  /** Damages a run, or all runs of the conversation that wait. */
  async function damage(conversationId: string, runId: string | null = null): Promise<void> {
    await app.system.db.raw(
      `update runs set state = state - 'visits'
       where tenant_id = ? and conversation_id = ? and status = 'waiting' and id = coalesce(?::uuid, id)`,
      [workspace.tenantId, conversationId, runId],
    )
  }

  async function advanceClock(seconds: number): Promise<void> {
    app.clock.advance(seconds * SECOND)
    await app.work()
  }

  const mailboxItems = () => app.system.db('mailbox_items').where({ tenant_id: workspace.tenantId })

  it('is retried with backoff, then fails with the error internal, and does not block other runs', async () => {
    const [damaged, undamaged] = [await startRun(newPhone(), 'nap'), await startRun(newPhone(), 'nap')]
    await damage(damaged)
    await advanceClock(60)
    expect((await listSentBodies(workspace, undamaged)).at(-1)).to.equal('Awake')
    for (const seconds of [5, 15, 45]) {
      expect((await listRuns(workspace, `conversationId=${damaged}&status=waiting`)).length).to.equal(1)
      await advanceClock(seconds)
    }
    await advanceClock(135)
    const [run] = (await listRuns(workspace, `conversationId=${damaged}`)).filter(({ status }) => status === 'failed')
    expect(run.error).to.include({ code: 'internal', stepId: 'rest' })
    expect((await listRunSteps(workspace, run.id)).map(({ status }) => status)).to.deep.equal(['canceled'])
    expect(await mailboxItems()).to.deep.equal([])
    expect(await app.system.db('run_waits').where({ run_id: run.id })).to.deep.equal([])
  })

  it('fails later, and nothing is dead-lettered, if the database is away when it is to fail', async () => {
    const damaged = await startRun(newPhone(), 'nap')
    await damage(damaged)
    await app.system.db.raw(`create function fail_run() returns trigger language plpgsql as
        $$ begin raise exception 'terminating connection' using errcode = '57P01'; end $$;
      create trigger fail_run before update on runs for each row when (new.status = 'failed') execute function fail_run()`)
    for (const seconds of [60, 5, 15, 45, 135]) await advanceClock(seconds)
    expect((await mailboxItems()).map(({ attempts }) => attempts)).to.deep.equal([4])
    await app.system.db.raw('drop function fail_run cascade')
    await advanceClock(405)
    expect(await listRuns(workspace, `conversationId=${damaged}&status=failed`)).to.have.length(1)
    expect(await mailboxItems()).to.deep.equal([])
    expect((await workspace.call('GET', '/api/dead-letters')).items).to.deep.equal([])
  })

  it('fails alone, and not another run of the conversation', async () => {
    const phone = newPhone()
    const conversationId = await startRun(phone, 'nap')
    const [napping] = await listRuns(workspace, `conversationId=${conversationId}&status=waiting`)
    await startRun(phone, 'ask')
    await damage(conversationId, napping.id)
    for (const seconds of [60, 5, 15, 45, 135]) await advanceClock(seconds)
    const unfinished = await listRuns(workspace, `conversationId=${conversationId}&status=waiting`)
    expect(unfinished).to.have.length(1)
    expect((await getRun(workspace, napping.id)).status).to.equal('failed')
  })

  it('passes its messages on to other workflows in their order once it has failed', async () => {
    const phone = newPhone()
    const conversationId = await startRun(phone, 'ask')
    await damage(conversationId)
    await app.removeWaitingJobs()
    for (const body of ['one', 'two']) await sendAsCustomer(workspace, { phone, body })
    await app.work()
    for (const seconds of [5, 15, 45, 135]) await advanceClock(seconds)
    expect(await listSentBodies(workspace, conversationId)).to.include.members(['one!', 'two!'])
    const echoes = (await listSentBodies(workspace, conversationId)).filter((body) => body.endsWith('!'))
    expect(echoes).to.deep.equal(['ask!', 'one!', 'two!'])
    const failed = await listRuns(workspace, `conversationId=${conversationId}&status=failed`)
    expect(failed.map(({ error }) => error.code)).to.deep.equal(['internal'])
    expect(await mailboxItems()).to.deep.equal([])
  })

  it('dead-letters only the invalid mailbox item and processes the items that arrived with it', async () => {
    const phone = newPhone()
    const conversationId = await startRun(phone, 'hello')
    await buildWorkflow(workspace, { triggers: [{ type: 'tag_added', tag: 'vip' }], steps: [say('never')] })
    await app.system.db('mailbox_items').insert([
      {
        tenant_id: workspace.tenantId,
        mailbox_kind: 'conversation',
        mailbox_id: conversationId,
        id: '00000000-0000-7000-8000-000000000001',
        kind: 'event',
        payload: { event: { type: 'tag_added', tag: 7 }, messageId: null, depth: 0 },
        due_at: app.clock.now(),
        created_at: app.clock.now(),
      },
    ])
    await sendAsCustomer(workspace, { phone, body: 'again' })
    await app.work()
    for (const seconds of [5, 15, 45, 135]) await advanceClock(seconds)
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['hello!', 'again!'])
    expect(await mailboxItems()).to.deep.equal([])
    const { items } = await workspace.call('GET', '/api/dead-letters')
    expect(items.map(({ type }: { type: string }) => type)).to.deep.equal(['event'])
  })
})
