import { expect } from 'chai'
import { hasDueWork, periodicTasks } from '../../../src/jobs.ts'
import { SECOND } from '../../../src/platform/time.ts'
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
    await finish()
    expect(await listDue(SECOND)).to.deep.equal([])
  })

  /** Lists the tasks that have something to do, each asked alone, which are those that all together find. */
  async function listDue(aheadMs: number, { system } = app): Promise<string[]> {
    const due: string[] = []
    const tasks = periodicTasks(system).filter((task) => task.due !== undefined)
    for (const task of tasks) if (await hasDueWork(system, [task], aheadMs)) due.push(task.name)
    expect(await hasDueWork(system, tasks, aheadMs)).to.equal(due.length > 0)
    return due
  }

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

  it('finds a message that nobody processes', async () => {
    const withoutWorker = await startTestApp({ ROLES: 'http' })
    try {
      await sendAsCustomer(await buildWorkspace(withoutWorker))
      expect(await listDue(0, withoutWorker)).to.include('enqueue due mailboxes')
    } finally {
      await withoutWorker.stop()
    }
  })

  it('finds a wait that ends soon, and none that ends later', async () => {
    await startRun([{ id: 'wait', type: 'wait', for: '1m' }, say('late', 'Late')])
    await finish()
    expect(await listDue(50 * SECOND)).to.deep.equal([])
    expect(await listDue(70 * SECOND)).to.deep.equal(['fire due timers'])
    app.clock.advance(70 * SECOND)
    await finish()
    expect(await listDue(SECOND)).to.deep.equal([])
  })

  it('finds a message that is to be sent soon, and none that is sent later', async () => {
    const { conversationId } = await sendAsCustomer(workspace)
    const sendAt = new Date(app.clock.now().getTime() + 60 * SECOND).toISOString()
    await workspace.call('POST', `/api/conversations/${conversationId}/messages`, { body: 'Later', sendAt })
    await finish()
    expect(await listDue(50 * SECOND)).to.deep.equal([])
    expect(await listDue(70 * SECOND)).to.deep.equal(['release scheduled messages'])
  })
})
