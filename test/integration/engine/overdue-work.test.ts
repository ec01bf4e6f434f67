import { expect } from 'chai'
import { periodicTasks } from '../../../src/jobs.ts'
import { OVERDUE_MS } from '../../../src/features/automation/jobs.ts'
import { buildConversation, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'

describe('work that is due at once', () => {
  let app: TestApp

  before(async () => {
    // The app runs no worker: what it enqueues stays in the queue.
    app = await startTestApp({ ROLES: 'http' })
  })

  after(() => app.stop())

  const listTasks = async () => (await app.listWaitingJobs()).map((job) => job.split(':')[0])

  it('is offered to the other processes when the one that has it did nothing for two seconds, and not before', async () => {
    const workspace = await buildWorkspace(app)
    const { id } = await buildConversation(workspace)
    await workspace.call('POST', `/api/conversations/${id}/messages`, { body: 'Hello' })
    await app.removeWaitingJobs()
    const offers = periodicTasks(app.system).filter(({ name }) => /enqueue due mailboxes|reconcile outbox/.test(name))
    for (const { run } of offers) await run()
    expect(await listTasks()).to.deep.equal([])
    app.clock.advance(OVERDUE_MS)
    for (const { run } of offers) await run()
    expect(await listTasks()).to.deep.equal(['advance', 'deliver'])
  })
})
