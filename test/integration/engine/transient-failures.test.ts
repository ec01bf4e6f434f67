import { expect } from 'chai'
import { ATTEMPTS_MAX } from '../../../src/features/automation/store/mailbox-store.ts'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { MINUTE, SECOND } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { listSentBodies } from '../../support/queries.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const TRANSIENT = {
  '08006': 'a lost connection',
  '40001': 'a serialization failure',
  '40P01': 'a deadlock',
  '53300': 'too many connections',
  '55P03': 'a lock timeout',
  '57014': 'a statement timeout',
}
const LAST_ATTEMPT = 5
const MORE_THAN_ATTEMPTS = 7

describe('an inbound message whose processing fails', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { triggers: [{ type: 'message_received' }], steps: [say('answer', 'Hello')] })
  })

  afterEach(() => app.system.db.raw('drop function if exists fail_step cascade'))
  after(() => app.stop())

  for (const [code, name] of Object.entries(TRANSIENT)) {
    it(`is answered after half an hour of failures by ${name} (${code})`, async () => {
      await failSteps(code)
      const { conversationId } = await sendAsCustomer(workspace, { phone: newPhone(), body: 'Hi' })
      for (let time = 0; time < MORE_THAN_ATTEMPTS; time += 1) {
        await app.work()
        app.clock.advance(5 * MINUTE)
      }
      expect(await listAttempts()).to.deep.equal([0])
      await app.system.db.raw('drop function fail_step cascade')
      await app.work()
      expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Hello'])
    })
  }

  it('is a dead letter when it fails by statement timeouts for more than an hour, and no longer blocks the next', async () => {
    await failSteps('57014')
    const phone = newPhone()
    const { conversationId } = await sendAsCustomer(workspace, { phone, body: 'Hi' })
    app.clock.advance(61 * MINUTE)
    for (let time = 0; time < ATTEMPTS_MAX; time += 1) {
      expect((await listAttempts())[0]).to.equal(time)
      await app.work()
      app.clock.advance(10 * MINUTE)
    }
    // The run that failed is ended first, and then the item has all its attempts again.
    await app.work()
    const { items } = await workspace.call('GET', '/api/dead-letters')
    expect(items).to.have.length(1)
    await app.system.db.raw('drop function fail_step cascade')
    await sendAsCustomer(workspace, { phone, body: 'Hi again' })
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Hello'])
  })

  it('keeps its last attempt through an outage, and is answered afterwards', async () => {
    await failSteps('P0001')
    const { conversationId } = await sendAsCustomer(workspace, { phone: newPhone(), body: 'Hi' })
    for (let time = 0; time < LAST_ATTEMPT - 1; time += 1) {
      await app.work()
      app.clock.advance(5 * MINUTE)
    }
    await failSteps('57014')
    for (let time = 0; time < 5; time += 1) {
      await app.work()
      app.clock.advance(7 * MINUTE)
    }
    expect(await listAttempts()).to.deep.equal([LAST_ATTEMPT - 1])
    await app.system.db.raw('drop function fail_step cascade')
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Hello'])
  })

  it('counts one attempt per backoff although several jobs fail at the same time', async () => {
    await failSteps('P0001')
    await sendAsCustomer(workspace, { phone: newPhone(), body: 'Hi' })
    const advance = () => advanceMailboxes(app.system, { tenantId: workspace.tenantId })
    await Promise.all([advance(), advance(), advance()])
    expect(await listAttempts()).to.deep.equal([1])
  })

  for (const [code, name] of [
    ['08006', 'a lost connection'],
    ['P0001', 'an error of its own'],
  ] as const) {
    it(`is answered before a message that arrives while it waits for another attempt after ${name}`, async () => {
      const other = await buildWorkspace(app)
      await buildWorkflow(other, { settings: { reentry: 'parallel' }, steps: [say('echo', 'Got {{message.body}}')] })
      await failSteps(code)
      const phone = newPhone()
      const { conversationId } = await sendAsCustomer(other, { phone, body: 'one' })
      await app.work()
      await app.system.db.raw('drop function fail_step cascade')
      app.clock.advance(2 * SECOND)
      await sendAsCustomer(other, { phone, body: 'two' })
      await app.work()
      expect(await listSentBodies(other, conversationId)).to.deep.equal([])
      app.clock.advance(3 * SECOND)
      await app.work()
      expect(await listSentBodies(other, conversationId)).to.deep.equal(['Got one', 'Got two'])
    })
  }

  async function failSteps(code: string): Promise<void> {
    await app.system.db.raw(`
      create or replace function fail_step() returns trigger language plpgsql as
        $$ begin raise exception 'no step is saved' using errcode = '${code}'; end $$;
      create or replace trigger fail_step before insert on run_steps execute function fail_step()`)
  }

  const listAttempts = (): Promise<number[]> =>
    app.system.db('mailbox_items').where({ tenant_id: workspace.tenantId }).orderBy('id').pluck<number[]>('attempts')
})
