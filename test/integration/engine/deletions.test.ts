import { expect } from 'chai'
import { lockMailboxes } from '../../../src/features/automation/store/mailbox-store.ts'
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

describe('what is deleted while workflows act on it', () => {
  let app: TestApp
  let owner: TestSession
  let channels = 0
  let channelId: string
  let contactIds: string[]
  let conversationIds: string[]

  before(async () => {
    // Nothing works by itself here, so that the order is ours.
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

  function answer(tx: Scope): Promise<void> {
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

  /** Deletes while somebody has the conversations' locks, and answers in them when the deletion waits for that. */
  async function deleteWhileAnswered(path: string): Promise<Answer> {
    let deleted: Promise<Answer> | undefined
    await scope().transaction(async (tx) => {
      await lockMailboxes(
        tx,
        conversationIds.map((id) => ({ kind: 'conversation', id })),
      )
      deleted ??= remove(path)
      await waitUntil(isSomebodyWaiting)
      await answer(tx)
    })
    return deleted ?? expect.fail('nothing was deleted')
  }

  async function isSomebodyWaiting(): Promise<boolean> {
    const { rows } = await app.system.db.raw<{ rows: unknown[] }>(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  }

  async function deadlocks(): Promise<number> {
    const { rows } = await app.system.db.raw<{ rows: { n: number }[] }>(
      `select pg_stat_clear_snapshot(), deadlocks as n from pg_stat_database where datname = current_database()`,
    )
    return rows[0]?.n ?? Number.NaN
  }

  it('a contact goes when those who answer are done, and neither is turned away', async () => {
    const { status } = await deleteWhileAnswered(`contacts/${contactIds[0]}`)
    expect(status).to.equal(204)
    expect(await deadlocks()).to.equal(0)
    expect(await app.system.db('outbox').where({ tenant_id: owner.tenantId })).to.have.length(1)
  })

  it('a channel goes when those who answer are done, and neither is turned away', async () => {
    const { status } = await deleteWhileAnswered(`channels/${channelId}`)
    expect(status).to.equal(204)
    expect(await deadlocks()).to.equal(0)
    expect(await app.system.db('outbox').where({ tenant_id: owner.tenantId })).to.have.length(0)
  })

  it('what the provider said of others counts, when somebody was deleted while it was asked', async () => {
    await scope().transaction(answer)
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

  it('what waited in the mailboxes of those who are gone is taken, and nothing comes of it', async () => {
    await app.rest('POST', '/api/sandbox/messages', {
      session: owner,
      body: { contactId: contactIds[0], body: 'hello' },
    })
    await remove(`contacts/${contactIds[0]}`)
    expect(await app.system.db('mailbox_items').where({ tenant_id: owner.tenantId })).to.have.length.above(0)
    await advanceMailboxes(app.system, { tenantId: owner.tenantId })
    expect(await app.system.db('mailbox_items').where({ tenant_id: owner.tenantId })).to.have.length(0)
  })

  it('of two transactions that stand in each other’s way, the one that the database ends is done again', async () => {
    const [first = '', second = ''] = contactIds
    let arrived = 0
    const touch = (ids: string[]) =>
      scope().transaction(async (tx) => {
        const rename = (id: string) =>
          tx
            .db('contacts')
            .where({ tenant_id: tx.tenantId, id })
            .update({ name: tx.db.raw(`name || '!'`) })
        await rename(ids[0] ?? '')
        arrived += 1
        await waitUntil(() => arrived >= 2)
        await rename(ids[1] ?? '')
      })
    await Promise.all([touch([first, second]), touch([second, first])])
    expect(arrived).to.equal(3)
    const named = await app.system.db('contacts').where({ tenant_id: owner.tenantId }).pluck<string[]>('name')
    expect(named).to.deep.equal(['Ana!!', 'Ana!!'])
  })
})
