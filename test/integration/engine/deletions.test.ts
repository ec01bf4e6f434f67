import { expect } from 'chai'
import { lockMailboxes } from '../../../src/engine/mailbox/mailbox.ts'
import { claimMessages } from '../../../src/features/outbound/claim-messages.ts'
import { settleMessages } from '../../../src/features/outbound/settle-messages.ts'
import { loadChannel } from '../../../src/features/channels/load-channel.ts'
import { openConversations } from '../../../src/features/inbound/open-conversations.ts'
import { queueMessages } from '../../../src/features/outbound/queue-messages.ts'
import { advanceMailboxes } from '../../../src/features/execution/advance-mailboxes.ts'
import { newId } from '../../../src/platform/ids.ts'
import type { Scope } from '../../../src/scope.ts'
import { startTestApp, type Answer, type TestApp, type TestSession } from '../../support/app.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('deletion while workflows run', () => {
  let app: TestApp
  let owner: TestSession
  let channels = 0
  let channelId: string
  let contactIds: string[]
  let conversationIds: string[]

  before(async () => {
    // The app runs no worker, so that the test determines the order of work.
    app = await startTestApp({ ROLES: 'http' })
  })

  beforeEach(async () => {
    owner = await app.signUp()
    const channel = {
      kind: 'whatsapp',
      name: 'North',
      phoneNumberId: `1${(channels += 1)}`,
      accessToken: 'token',
      appSecret: 'a'.repeat(32),
      verifyToken: 'verify-token',
    }
    channelId = (await app.rest('POST', '/api/channels', { session: owner, body: channel })).body.id
    contactIds = []
    for (const phone of ['+4915212340001', '+4915212340002']) {
      const { body } = await app.rest('POST', '/api/contacts', { session: owner, body: { name: 'Ana', phone } })
      contactIds.push(body.id)
    }
    const opened = await scope().transaction((tx) => openConversations(tx, channelId, contactIds))
    conversationIds = contactIds.map((id) => opened.get(id)?.conversationId ?? '')
  })

  after(() => app.stop())

  const scope = () => app.system.forTenant(owner.tenantId)
  const remove = (path: string) => app.rest('DELETE', `/api/${path}`, { session: owner })

  function queueAnswers(tx: Scope): Promise<void> {
    const sender = { type: 'workflow' as const, id: null, name: null }
    const about = { channelId, body: 'Hi', content: null, sender, runId: null, stepId: null }
    const messages = contactIds.map((contactId, at) => ({
      ...about,
      id: newId(),
      contactId,
      conversationId: conversationIds[at] ?? '',
    }))
    return queueMessages(tx, messages)
  }

  /** Deletes while a transaction holds the mailbox locks and queues answers once the deletion waits for a lock. */
  async function deleteWhileAnswered(path: string): Promise<Answer> {
    let deleted: Promise<Answer> | undefined
    await scope().transaction(async (tx) => {
      await lockMailboxes(
        tx.db,
        tx.tenantId,
        conversationIds.map((id) => ({ kind: 'conversation', id })),
      )
      deleted ??= remove(path)
      await waitUntil(isLockAwaited)
      await queueAnswers(tx)
    })
    return deleted ?? expect.fail('nothing was deleted')
  }

  async function isLockAwaited(): Promise<boolean> {
    const { rows } = await app.system.db.raw<{ rows: unknown[] }>(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  }

  async function countDeadlocks(): Promise<number> {
    const { rows } = await app.system.db.raw<{ rows: { n: number }[] }>(
      `select pg_stat_clear_snapshot(), deadlocks as n from pg_stat_database where datname = current_database()`,
    )
    return rows[0]?.n ?? Number.NaN
  }

  it('of a contact waits for transactions that answer it and causes no deadlock', async () => {
    const { status } = await deleteWhileAnswered(`contacts/${contactIds[0]}`)
    expect(status).to.equal(204)
    expect(await countDeadlocks()).to.equal(0)
    expect(await app.system.db('outbox').where({ tenant_id: owner.tenantId })).to.have.length(1)
  })

  it('of a channel waits for transactions that answer on it and causes no deadlock', async () => {
    const { status } = await deleteWhileAnswered(`channels/${channelId}`)
    expect(status).to.equal(204)
    expect(await countDeadlocks()).to.equal(0)
    expect(await app.system.db('outbox').where({ tenant_id: owner.tenantId })).to.have.length(0)
  })

  it('of one recipient during a send keeps the send results of the other recipients', async () => {
    await scope().transaction(queueAnswers)
    const claimed = await scope().transaction((tx) => claimMessages(tx, channelId, 10))
    expect(claimed).to.have.length(2)
    expect((await remove(`contacts/${contactIds[0]}`)).status).to.equal(204)
    const channel = await loadChannel(scope(), channelId)
    const sent = claimed.map((message, at) => ({
      message,
      result: { kind: 'accepted' as const, providerMessageId: `wamid.${owner.tenantId}.${at}`, recipientAddress: null },
    }))
    await scope().transaction((tx) => settleMessages(tx, channel, sent))
    const messages = await app.system.db('messages').where({ tenant_id: owner.tenantId })
    expect(messages.map(({ status }) => status)).to.deep.equal(['sent'])
  })

  it('of a contact leaves mailbox items that are processed without effect', async () => {
    await app.rest('POST', '/api/sandbox/messages', {
      session: owner,
      body: { contactId: contactIds[0], body: 'hello' },
    })
    await remove(`contacts/${contactIds[0]}`)
    expect(await app.system.db('mailbox_items').where({ tenant_id: owner.tenantId })).to.have.length.above(0)
    await advanceMailboxes(app.system, { tenantId: owner.tenantId })
    expect(await app.system.db('mailbox_items').where({ tenant_id: owner.tenantId })).to.have.length(0)
  })

  it('retries the transaction that the database aborts in a deadlock', async () => {
    const [first = '', second = ''] = contactIds
    let attempts = 0
    const touch = (ids: string[]) =>
      scope().transaction(async (tx) => {
        const rename = (id: string) =>
          tx
            .db('contacts')
            .where({ tenant_id: tx.tenantId, id })
            .update({ name: tx.db.raw(`name || '!'`) })
        await rename(ids[0] ?? '')
        attempts += 1
        await waitUntil(() => attempts >= 2)
        await rename(ids[1] ?? '')
      })
    await Promise.all([touch([first, second]), touch([second, first])])
    expect(attempts).to.equal(3)
    const names = await app.system.db('contacts').where({ tenant_id: owner.tenantId }).pluck<string[]>('name')
    expect(names).to.deep.equal(['Ana!!', 'Ana!!'])
  })
})
