import { expect } from 'chai'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { listSentBodies } from '../../support/queries.ts'
import { recordStatements } from '../../support/statements.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** Batches that a job advances. */
const BATCHES_MAX = 4
/** A step with a little less work than it may do. Three do more than a batch. */
function work(id: string): object {
  const much = '{{ (1..900000) | size }}'
  return { id, type: 'set', values: { one: much, two: much, three: much, four: much } }
}

describe('messages of several customers that are advanced together', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    // The app runs no worker; the test does each piece of work itself.
    app = await startTestApp({ ROLES: 'http' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  afterEach(() => app.system.db.raw('drop function if exists fail_step cascade'))

  const createPhones = (count: number) => Array.from({ length: count }, () => newPhone())

  /** Receives a message from each customer; returns the conversations. */
  async function receive(phones: string[]): Promise<string[]> {
    const conversations: string[] = []
    for (const phone of phones) {
      conversations.push((await sendAsCustomer(workspace, { phone, body: 'Hi' })).conversationId)
    }
    return conversations
  }

  const advance = () => advanceMailboxes(app.system, { tenantId: workspace.tenantId })

  it('are all answered, although the first one is more work than a batch does', async () => {
    const phones = createPhones(3)
    // The items of new contacts and conversations are not among those of the batch.
    await receive(phones)
    await advance()
    await buildWorkflow(workspace, { steps: [work('first'), work('second'), work('third'), say('answer', 'Hello')] })
    const conversations = await receive(phones)
    await advance()
    for (const id of conversations) expect(await listSentBodies(workspace, id)).to.deep.equal(['Hello'])
  })

  it('are answered by the same job, however many of the others fail, each of which has one attempt', async () => {
    await buildWorkflow(workspace, { steps: [say('answer', 'Hello')] })
    const [answered = '', ...failing] = await receive(createPhones(BATCHES_MAX + 3))
    await app.system.db.raw(`create function fail_step() returns trigger language plpgsql as $$ begin
        if exists (select from runs where id = new.run_id and conversation_id <> '${answered}') then
          raise exception 'no step is saved';
        end if;
        return new;
      end $$;
      create trigger fail_step before insert on run_steps for each row execute function fail_step()`)
    await advance()
    expect(await listSentBodies(workspace, answered)).to.deep.equal(['Hello'])
    const items = app.system.db('mailbox_items').where({ tenant_id: workspace.tenantId })
    expect(await items.pluck('attempts')).to.deep.equal(failing.map(() => 1))
  })

  it('are answered in fifteen attempts if one of fifty fails, which has one attempt', async () => {
    const phones = createPhones(50)
    await receive(phones)
    while (await app.system.db('mailbox_items').where({ tenant_id: workspace.tenantId }).first('id')) await advance()
    await buildWorkflow(workspace, { steps: [say('answer', 'Hello')] })
    const conversations = await receive(phones)
    const [bad = ''] = conversations.splice(20, 1)
    await app.system.db.raw(`create function fail_step() returns trigger language plpgsql as $$ begin
        if exists (select from runs where id = new.run_id and conversation_id = '${bad}') then
          raise exception 'no step is saved';
        end if;
        return new;
      end $$;
      create trigger fail_step before insert on run_steps for each row execute function fail_step()`)
    const statements = await recordStatements(advance)
    expect(statements.filter(({ text }) => text.includes('/* takeItems */')).length).to.be.at.most(15)
    for (const id of conversations) expect(await listSentBodies(workspace, id)).to.deep.equal(['Hello'])
    expect(await listSentBodies(workspace, bad)).to.deep.equal([])
    const items = app.system.db('mailbox_items').where({ tenant_id: workspace.tenantId })
    expect(await items.pluck('attempts')).to.deep.equal([1])
  })
})
