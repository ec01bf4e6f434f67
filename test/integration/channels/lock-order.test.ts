import { expect } from 'chai'
import type { InboundMessage } from '../../../src/channels/channel.ts'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { receiveMessages } from '../../../src/features/inbound/receive-messages.ts'
import { buildChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const SENDERS = 50
/** With so many other contacts the planner looks senders up by index, in the order of the query. */
const OTHER_CONTACTS = 20_000

const ECHO = {
  settings: { reentry: 'parallel' },
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'Got {{message.body}}' } }],
}

describe('lock order of senders who write on two channels at once', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  const channelIds: string[] = []

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
    workspace = await buildWorkspace(app)
    for (const name of ['North', 'South']) channelIds.push((await buildChannel(workspace, { name })).id)
    await buildWorkflow(workspace, ECHO)
  })

  before(async () => {
    await app.system.db.raw(
      `insert into contacts (tenant_id, id, name, phone, country, source, created_at, updated_at)
       select ?, gen_random_uuid(), 'Contact ' || n, '+4915' || lpad(n::text, 8, '0'), 'DE', 'api', now(), now()
       from generate_series(1, ?) n`,
      [workspace.tenantId, OTHER_CONTACTS],
    )
    await app.system.db.raw('analyze contacts')
  })

  after(() => app.stop())

  /** Receives one message from each of the senders on the given channel. */
  function receive(channel: number, name: string): Promise<unknown> {
    const messages = Array.from({ length: SENDERS }, (_, n): InboundMessage => ({
      providerMessageId: `${name}.${n}`,
      from: { phone: `+1555300${n + 100}`, userId: null, profileName: null, username: null },
      type: 'text',
      body: `hello ${name}`,
      content: null,
      at: app.clock.now(),
    }))
    return receiveMessages(app.system.forTenant(workspace.tenantId), {
      channelId: channelIds[channel] ?? '',
      messages: channel === 0 ? messages : messages.reverse(),
    })
  }

  /** Starts the tasks while the middle sender's row is locked; unlocks it once all tasks wait for a lock. */
  async function runWithMiddleSenderLocked(tasks: (() => Promise<unknown>)[]): Promise<void> {
    const lockTransaction = await app.system.db.transaction()
    await lockTransaction.raw(`select 1 from contacts where phone = ? for no key update`, [
      `+1555300${100 + SENDERS / 2}`,
    ])
    const done = Promise.all(tasks.map((task) => task()))
    await waitUntil(async () => (await countLockWaits(app)) === tasks.length)
    await lockTransaction.commit()
    await done
  }

  const advance = () => advanceMailboxes(app.system, { tenantId: workspace.tenantId })

  async function advanceAll(): Promise<void> {
    while (await app.system.db('mailbox_items').first('id')) await advance()
  }

  async function countAnswers(): Promise<number> {
    const [row] = await app.system.db('messages').where('direction', 'outbound').count<{ count: number }[]>()
    return row?.count ?? 0
  }

  it('prevents a deadlock between two transactions that store messages of the same senders', async () => {
    await receive(0, 'first')
    await receive(1, 'first')
    await runWithMiddleSenderLocked([() => receive(0, 'second'), () => receive(1, 'second')])
    await advanceAll()
    expect(await countAnswers()).to.equal(4 * SENDERS)
  })

  it('prevents a deadlock between a transaction that stores messages and one that answers them', async () => {
    await receive(1, 'third')
    await runWithMiddleSenderLocked([advance, () => receive(0, 'third')])
    await advanceAll()
    expect(await countAnswers()).to.equal(6 * SENDERS)
  })
})
