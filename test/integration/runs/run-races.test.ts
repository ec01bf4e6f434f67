import { expect } from 'chai'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { listMessages, listRuns } from '../../support/queries.ts'
import { say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ASK = {
  steps: [
    { id: 'hello', type: 'send_message', message: { body: 'Hello' } },
    { id: 'reply', type: 'wait_for_reply' },
  ],
}

describe('canceling a run while something else happens to it', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, ASK)
  })

  after(() => app.stop())

  it('returns 409 run_finished for a run that has finished, and leaves it as it is', async () => {
    await sendAsCustomer(workspace)
    await app.work()
    const { id } = await findRun()
    for (const status of [200, 409]) {
      const response = await workspace.request('POST', `/api/runs/${id}/cancel`, {})
      expect(response.status).to.equal(status)
      if (status === 409) expect(response.body.code).to.equal('run_finished')
    }
    expect((await findRun()).status).to.equal('canceled')
  })

  const findRun = async () => (await workspace.call('GET', '/api/runs')).items[0]

  it('waits until the transaction that processes its conversation has ended', async () => {
    const { conversationId } = await sendAsCustomer(workspace)
    await app.work()
    const run = await findRun()
    expect(run.status).to.equal('waiting')
    const processing = await app.system.db.transaction()
    await processing.raw('select 1 from conversations where id = ? for no key update', [conversationId])
    const canceling = workspace.call('POST', `/api/runs/${run.id}/cancel`, {})
    const first = await Promise.race([
      canceling.then(() => 'canceled'),
      waitUntil(async () => (await countLockWaits(app)) > 0).then(() => 'waits'),
    ])
    await processing.commit()
    expect(first).to.equal('waits')
    expect((await canceling).status).to.equal('canceled')
  })

  it('leaves a message that the provider has received as it is', async () => {
    const cloud = await FakeCloudApi.start({ clock: app.clock })
    try {
      await buildCloudApiChannel(workspace, cloud)
      cloud.dropNextResponse('hang')
      await cloud.webhooks.sendText({ from: '15550003001', body: 'hi' })
      await cloud.whenAccepted(1)
      const run = await findRun()
      expect((await workspace.call('POST', `/api/runs/${run.id}/cancel`, {})).status).to.equal('canceled')
      const messageId = cloud.accepted[0]?.callbackData ?? ''
      const readStatus = async () => {
        const row = await app.system.db('messages').where('id', messageId).first<{ status: string }>('status')
        return row.status
      }
      expect(await readStatus()).to.equal('sending')
      expect(await app.system.db('outbox').where('message_id', messageId)).to.have.length(1)
    } finally {
      await cloud.stop()
    }
  })
})

describe('messages that are queued when a run is canceled', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    // Nothing is delivered, as the app runs no worker.
    app = await startTestApp({ ROLES: 'http' })
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  /** Runs a workflow that starts another one, which has these steps, and cancels it while it waits for a reply. */
  async function cancelParent(childSteps: object[]): Promise<Record<string, string>> {
    const child = await buildWorkflow(workspace, { triggers: [], steps: childSteps })
    await buildWorkflow(workspace, {
      steps: [
        say('parent'),
        { id: 'run', type: 'run_workflow', workflowId: child.id, wait: true },
        { id: 'reply', type: 'wait_for_reply' },
      ],
    })
    const { conversationId } = await sendAsCustomer(workspace)
    await advanceMailboxes(app.system, { tenantId: workspace.tenantId })
    const runs = await listRuns(workspace)
    const parent = runs.find(({ parentRunId }) => parentRunId === null)
    await workspace.call('POST', `/api/runs/${parent.id}/cancel`, {})
    const messages = await listMessages(workspace, conversationId)
    return Object.fromEntries(messages.map(({ body, status }) => [body, status]))
  }

  it('are canceled, also those of a child run that is canceled with it', async () => {
    const statuses = await cancelParent([say('child'), { id: 'reply', type: 'wait_for_reply' }])
    expect(statuses).to.include({ parent: 'canceled', child: 'canceled' })
  })

  it('are still sent if a child run queued them that had finished', async () => {
    expect(await cancelParent([say('child')])).to.include({ parent: 'canceled', child: 'queued' })
  })
})
