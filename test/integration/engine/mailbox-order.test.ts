import { expect } from 'chai'
import { fireDueTimers } from '../../../src/features/automation/fire-due-timers.ts'
import { retryDeadLetter } from '../../../src/features/dead-letters/changes.ts'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { executeCalls } from '../../../src/features/external-calls/execute-calls.ts'
import { MINUTE, SECOND } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { listSentBodies } from '../../support/queries.ts'
import { say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PHONE = '+4917099000001'
const on = (value: string) => [{ type: 'message_received', match: { mode: 'exact', values: [value] } }]

describe('order of a mailbox whose first item waits for another attempt', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let conversationId: string
  let contactId: string

  before(async () => {
    // The app runs no worker; the test does each piece of work itself.
    app = await startTestApp({ ROLES: 'http' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    const settings = { reentry: 'parallel' }
    await buildWorkflow(workspace, { settings, triggers: on('hello'), steps: [say('hello', 'Hello')] })
    await buildWorkflow(workspace, {
      settings,
      triggers: on('nap'),
      steps: [{ id: 'nap', type: 'wait', for: '30m' }, say('woke', 'Good morning')],
    })
    await buildWorkflow(workspace, {
      settings,
      triggers: on('call'),
      steps: [
        { id: 'call', type: 'http', url: 'https://nowhere.invalid/', onError: 'called' },
        say('called', 'Called'),
      ],
    })
    await buildWorkflow(workspace, {
      settings,
      triggers: [{ type: 'event', event: 'order_paid' }],
      steps: [say('paid', 'Thanks')],
    })
  })

  afterEach(() => app.system.db.raw('drop function if exists fail_run, hold_commit cascade'))

  const advance = () => advanceMailboxes(app.system, { tenantId: workspace.tenantId })

  async function receive(body: string): Promise<void> {
    ;({ conversationId } = await sendAsCustomer(workspace, { phone: PHONE, body }))
    ;({ contactId } = await workspace.call('GET', `/api/conversations/${conversationId}`))
  }

  /** Lets runs of the message "hello" fail. */
  const failHello = () =>
    app.system.db.raw(`
      create function fail_run() returns trigger language plpgsql as
        $$ begin raise exception 'no run is saved'; end $$;
      create trigger fail_run before insert on messages for each row
        when (new.direction = 'outbound' and new.body = 'Hello') execute function fail_run()`)

  /** Lets a transaction that has put an item into a mailbox wait for an advisory lock when it commits. */
  const holdCommits = () =>
    app.system.db.raw(`
      create function hold_commit() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock(1); return null; end $$;
      create constraint trigger hold_commit after insert on mailbox_items deferrable initially deferred
        for each row execute function hold_commit()`)

  const WRITERS: Record<string, { prepare?: string; write: () => Promise<unknown>; sent: string }> = {
    'an event': {
      write: () => workspace.call('POST', '/api/events', { event: 'order_paid', contactId }),
      sent: 'Thanks',
    },
    'a timer': {
      prepare: 'nap',
      write() {
        app.clock.advance(30 * MINUTE)
        return fireDueTimers(app.system)
      },
      sent: 'Good morning',
    },
    'the result of an external call': {
      prepare: 'call',
      write: () => executeCalls(app.system, { tenantId: workspace.tenantId }),
      sent: 'Called',
    },
  }

  for (const [name, { prepare, write, sent }] of Object.entries(WRITERS)) {
    it(`keeps ${name} behind it that is written at the moment when it fails`, async () => {
      await receive(prepare ?? 'nothing')
      await advance()
      await receive('hello')
      await failHello()
      await holdCommits()
      const holding = await app.system.db.transaction()
      await holding.raw('select pg_advisory_xact_lock(1)')
      const writing = write()
      await waitUntil(async () => (await countLockWaits(app)) === 1)
      await advance()
      await holding.commit()
      await writing
      await app.system.db.raw('drop function fail_run cascade')
      await advance()
      expect(await listSentBodies(workspace, conversationId)).to.deep.equal([])
      app.clock.advance(5 * SECOND)
      await advance()
      expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Hello', sent])
    })
  }

  it('is not postponed while another process holds the mailbox, which may claim the items behind it', async function () {
    // PostgreSQL may give a lock that was waited for to a statement that comes at that moment: then it is postponed first.
    this.retries(3)
    await receive('hello')
    // The first attempt at the whole mailbox fails at once, that at the item when the test lets it.
    await app.system.db.raw(`
      create sequence failures;
      create function fail_run() returns trigger language plpgsql as $$
        begin
          if nextval('failures') = 2 then perform pg_advisory_xact_lock(1); end if;
          raise exception 'no run is saved';
        end $$;
      create trigger fail_run before insert on messages for each row
        when (new.direction = 'outbound') execute function fail_run()`)
    const [failure, processing] = [await app.system.db.transaction(), await app.system.db.transaction()]
    await failure.raw('select pg_advisory_xact_lock(1)')
    const advancing = advance()
    await waitUntil(async () => (await countLockWaits(app)) === 1)
    const locked = processing('conversations').where({ id: conversationId }).forNoKeyUpdate().then()
    await waitUntil(async () => (await countLockWaits(app)) === 2)
    await failure.commit()
    await locked
    const first = await Promise.race([
      advancing.then(() => 'is postponed'),
      waitUntil(async () => (await countLockWaits(app)) === 1).then(() => 'waits'),
    ])
    await processing.commit()
    await advancing
    await app.system.db.raw('drop sequence failures')
    expect(first).to.equal('waits')
  })

  it('is attempted again after 5, 15, 45 and 135 seconds, and not before', async () => {
    await receive('hello')
    await failHello()
    await advance()
    const listAttempts = () => app.system.db('mailbox_items').where({ tenant_id: workspace.tenantId }).pluck('attempts')
    for (const [index, seconds] of [5, 15, 45, 135].entries()) {
      app.clock.advance(seconds * SECOND - 1)
      await advance()
      expect(await listAttempts()).to.deep.equal([index + 1])
      app.clock.advance(1)
      await advance()
    }
    expect(await listAttempts()).to.deep.equal([])
  })

  it('keeps it behind a dead letter that is put back and fails again', async () => {
    await receive('hello')
    await failHello()
    for (const seconds of [5, 15, 45, 135, 0]) {
      await advance()
      app.clock.advance(seconds * SECOND)
    }
    const { items } = await workspace.call('GET', '/api/dead-letters')
    await workspace.call('POST', '/api/events', { event: 'order_paid', contactId })
    await retryDeadLetter(app.system.forTenant(workspace.tenantId), { deadLetterId: items[0].id })
    await advance()
    await app.system.db.raw('drop function fail_run cascade')
    await advance()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal([])
    app.clock.advance(5 * SECOND)
    await advance()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Hello', 'Thanks'])
  })
})
