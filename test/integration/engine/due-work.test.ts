import { expect } from 'chai'
import { hasDueWork, periodicTasks } from '../../../src/jobs.ts'
import { HOUR, SECOND } from '../../../src/platform/time.ts'
import { buildContact, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('the statement that looks ahead for due work', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })
  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    await app.work()
    for (const { name, run } of periodicTasks(app.system)) if (name.startsWith('roll up')) await run()
    expect(await isDue(SECOND)).to.equal(false)
  })

  const isDue = (aheadMs: number) => hasDueWork(app.system, periodicTasks(app.system), aheadMs)

  async function startRun(steps: unknown[]): Promise<string> {
    const { id } = await buildWorkflow(workspace, { triggers: [{ type: 'api' }], steps })
    const { id: contactId } = await buildContact(workspace)
    await workspace.call('POST', `/api/workflows/${id}/runs`, { contactId })
    return contactId
  }

  /** Adds the kept numbers up, which is work, too. */
  async function finish(): Promise<void> {
    await app.work()
    for (const { name, run } of periodicTasks(app.system)) if (name.startsWith('roll up')) await run()
  }

  it('finds a message that nobody processes yet', async () => {
    await sendAsCustomer(workspace)
    expect(await isDue(0)).to.equal(true)
    await finish()
    expect(await isDue(HOUR)).to.equal(false)
  })

  it('finds a wait that ends soon, and none that ends later', async () => {
    await startRun([{ id: 'wait', type: 'wait', for: '1m' }, say('late', 'Late')])
    await finish()
    expect(await isDue(50 * SECOND)).to.equal(false)
    expect(await isDue(70 * SECOND)).to.equal(true)
    app.clock.advance(70 * SECOND)
    await finish()
    expect(await isDue(SECOND)).to.equal(false)
  })

  it('finds a message that is to be sent soon, and none that is sent later', async () => {
    const { conversationId } = await sendAsCustomer(workspace)
    const sendAt = new Date(app.clock.now().getTime() + 60 * SECOND).toISOString()
    await workspace.call('POST', `/api/conversations/${conversationId}/messages`, { body: 'Later', sendAt })
    await finish()
    expect(await isDue(50 * SECOND)).to.equal(false)
    expect(await isDue(70 * SECOND)).to.equal(true)
  })

  it('is executed for each task that names what is due', async () => {
    const tasks = periodicTasks(app.system).filter(({ due }) => due !== undefined)
    expect(tasks.map(({ name }) => name)).to.include.members([
      'fire schedules',
      'reconcile outbox',
      'enqueue due webhooks',
    ])
    await finish()
    for (const task of tasks) expect(await hasDueWork(app.system, [task], 0), task.name).to.equal(false)
  })
})
