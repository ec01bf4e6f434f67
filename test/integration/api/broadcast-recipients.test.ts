import { expect } from 'chai'
import { newId } from '../../../src/platform/ids.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

describe("broadcasts' recipients", () => {
  let app: TestApp
  let owner: TestSession
  let templateId: string
  let nextPhone = 14155550100

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
    const { channels, templates } = app.client(owner)
    const channelId = (await channels.list.query({})).items[0]?.id ?? ''
    const template = { channelId, name: 'sale', language: 'en', category: 'marketing' as const, body: 'Hi' }
    templateId = (await templates.create.mutate(template)).id
  })

  after(() => app.stop())

  const call = (method: string, path: string, body?: object) => app.rest(method, path, { session: owner, body })
  const draft = () => call('POST', '/api/broadcasts', { name: 'Sale', templateId })

  async function newContact(name: string): Promise<string> {
    nextPhone += 1
    return (await call('POST', '/api/contacts', { name, phone: `+${nextPhone}` })).body.id
  }

  async function addRecipient(broadcastId: string, contactId: string, fields: object = {}): Promise<string> {
    const id = newId()
    const now = app.clock.now()
    await app.system.db('broadcast_recipients').insert({
      tenant_id: owner.tenantId,
      id,
      broadcast_id: broadcastId,
      contact_id: contactId,
      address: `+1${id}`,
      status: 'pending',
      created_at: now,
      updated_at: now,
      ...fields,
    })
    return id
  }

  it('tell of each recipient how far it came, newest first', async () => {
    const { body: mine } = await draft()
    const { body: other } = await draft()
    const [ana, bo] = [await newContact('Ana'), await newContact('Bo')]
    const failedAt = app.clock.now()
    const error = { code: 'undeliverable', message: 'Not reachable' }
    const failed = {
      address: '+14155559999',
      status: 'failed',
      error: JSON.stringify(error),
      failed_at: failedAt,
      attempt: 2,
    }
    const first = await addRecipient(mine.id, ana, failed)
    app.clock.advance(1)
    const second = await addRecipient(mine.id, bo)
    await addRecipient(other.id, ana)
    const path = `/api/broadcasts/${mine.id}/recipients`
    const { status, body } = await call('GET', path)
    expect([status, body.total, body.items.map(({ id }: any) => id)]).to.deep.equal([200, 2, [second, first]])
    expect(body.items[1]).to.deep.equal({
      id: first,
      broadcastId: mine.id,
      contactId: ana,
      contact: { id: ana, name: 'Ana' },
      address: '+14155559999',
      status: 'failed',
      skipReason: null,
      error,
      params: {},
      messageId: null,
      attempt: 2,
      sentAt: null,
      deliveredAt: null,
      readAt: null,
      failedAt: failedAt.toISOString(),
      createdAt: failedAt.toISOString(),
      updatedAt: failedAt.toISOString(),
    })
    const { recipients } = app.client(owner).broadcasts
    const page = await recipients.query({ id: mine.id, limit: 1, offset: 1 })
    expect([page.total, page.items[0]?.id]).to.deep.equal([2, first])
    const pending = await call('GET', `${path}?status=pending`)
    expect([pending.body.total, pending.body.items[0].id]).to.deep.equal([1, second])
    expect((await call('GET', `${path}?status=lost`)).status).to.equal(400)
  })

  it('name the message a recipient was sent', async () => {
    const { body: mine } = await draft()
    const phone = `+${(nextPhone += 1)}`
    const played = await call('POST', '/api/sandbox/messages', { phone, name: 'Cy', body: 'Hello' })
    const path = `/api/conversations/${played.body.conversationId}/messages`
    const { body: message } = await call('POST', path, { body: 'Hi' })
    const row = { tenant_id: owner.tenantId, id: message.id }
    await app.system.db('messages').where(row).update({ broadcast_id: mine.id })
    await addRecipient(mine.id, message.contactId, { status: 'sent' })
    const { items } = await app.client(owner).broadcasts.recipients.query({ id: mine.id })
    expect(items.map(({ messageId }) => messageId)).to.deep.equal([message.id])
  })
})
