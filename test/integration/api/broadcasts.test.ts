import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'

const ABSENT = '0199a7a0-ffff-7000-8000-000000000000'
const STATUSES = ['pending', 'sending', 'sent', 'delivered', 'read', 'failed', 'skipped', 'canceled', 'unknown']

describe('broadcasts', () => {
  let app: TestApp
  let owner: TestSession
  let stranger: TestSession
  let templateId: string
  let sandboxId: string
  let nextPhone = 14155550100

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
    stranger = await app.signUp()
    ;({ templateId, sandboxId } = await newTemplate('sale', owner))
  })

  after(() => app.stop())

  const call = (method: string, path: string, body?: object, session = owner) =>
    app.rest(method, path, { session, body })
  const draft = (body: object = {}) => call('POST', '/api/broadcasts', { name: 'Sale', templateId, ...body })

  async function newTemplate(name: string, session: TestSession) {
    const { items } = await app.client(session).channels.list.query({})
    const channelId = items[0]?.id ?? ''
    const template = { channelId, name, language: 'en', category: 'marketing' as const, body: 'Hi {{name}}' }
    const { id } = await app.client(session).templates.create.mutate(template)
    return { templateId: id, sandboxId: channelId }
  }

  async function newContact(name: string, session = owner): Promise<string> {
    nextPhone += 1
    return (await call('POST', '/api/contacts', { name, phone: `+${nextPhone}` }, session)).body.id
  }

  /** Moves a broadcast where no call of the API moves it. */
  async function put(id: string, status: string): Promise<void> {
    await app.system.db('broadcasts').where({ tenant_id: owner.tenantId, id }).update({ status })
  }

  it('are drafted with a name and a template alone, for nobody yet', async () => {
    const { status, body } = await draft()
    expect(status).to.equal(201)
    expect(body).to.deep.include({
      name: 'Sale',
      description: null,
      status: 'draft',
      channelId: sandboxId,
      template: { id: templateId, name: 'sale', language: 'en' },
      params: {},
      audience: { groupIds: [], tagIds: [], contactIds: [] },
      counts: { total: 0, ...Object.fromEntries(STATUSES.map((name) => [name, 0])) },
      scheduledAt: null,
      startedAt: null,
      completedAt: null,
      createdBy: owner.userId,
    })
  })

  it('send nobody anything by being drafted', async () => {
    const contactId = await newContact('Ana')
    const { body } = await draft({ audience: { contactIds: [contactId] } })
    await app.work()
    expect((await call('GET', `/api/broadcasts/${body.id}/recipients`)).body).to.deep.equal({ items: [], total: 0 })
    expect((await call('GET', '/api/conversations')).body.total).to.equal(0)
  })

  it('keep what they are given: an audience, and texts for the template', async () => {
    const contactId = await newContact('Bo')
    const group = await call('POST', '/api/groups', { name: 'Regulars' })
    const tag = await call('POST', '/api/tags', { name: 'VIP' })
    const audience = { groupIds: [group.body.id], tagIds: [tag.body.id], contactIds: [contactId] }
    const input = { name: 'All', templateId, channelId: sandboxId, params: { name: '{{contact.name}}' }, audience }
    const created = await app.client(owner).broadcasts.create.mutate(input)
    expect(created).to.deep.include(input)
    expect(await app.client(owner).broadcasts.get.query({ broadcastId: created.id })).to.deep.equal(created)
  })

  it('take nothing of another workspace', async () => {
    const foreign = await newTemplate('foreign', stranger)
    const group = await call('POST', '/api/groups', { name: 'Theirs' }, stranger)
    const tag = await call('POST', '/api/tags', { name: 'Theirs' }, stranger)
    const contactId = await newContact('Theirs', stranger)
    const own = await newContact('Own')
    const cases: [object, string][] = [
      [{ templateId: foreign.templateId }, 'Template not found'],
      [{ channelId: foreign.sandboxId }, 'Channel not found'],
      [{ audience: { groupIds: [group.body.id] } }, 'Group not found'],
      [{ audience: { tagIds: [tag.body.id] } }, 'Tag not found'],
      [{ audience: { contactIds: [own, contactId] } }, 'Contact not found'],
      [{ audience: { contactIds: [ABSENT] } }, 'Contact not found'],
      [{ audience: { groupIds: ['no-uuid'] } }, 'Group not found'],
    ]
    const { body: mine } = await draft()
    for (const [fields, error] of cases) {
      for (const answer of [await draft(fields), await call('PATCH', `/api/broadcasts/${mine.id}`, fields)]) {
        expect([answer.status, answer.body.error], JSON.stringify(fields)).to.deep.equal([404, error])
      }
    }
  })

  it('go out on the channel their template belongs to', async () => {
    const channel = await call('POST', '/api/channels', {
      kind: 'whatsapp',
      name: 'Shop',
      phoneNumberId: '1234567890',
      accessToken: 'token',
      appSecret: 'secret',
      verifyToken: 'verify-me-please',
    })
    const other = await draft({ channelId: channel.body.id })
    expect([other.status, other.body.code]).to.deep.equal([422, 'template_of_other_channel'])
    const { body: template } = await call('POST', '/api/templates', {
      channelId: channel.body.id,
      name: 'sale',
      language: 'en',
      category: 'marketing',
      body: 'Hi',
    })
    const { body: mine } = await draft()
    const moved = await call('PATCH', `/api/broadcasts/${mine.id}`, { templateId: template.id })
    expect([moved.status, moved.body.channelId]).to.deep.equal([200, channel.body.id])
  })

  it('are listed in pages, newest first', async () => {
    const session = await app.signUp()
    const own = await newTemplate('own', session)
    for (const name of ['a', 'b', 'c']) {
      await call('POST', '/api/broadcasts', { name, templateId: own.templateId }, session)
      app.clock.advance(1)
    }
    const { body } = await call('GET', '/api/broadcasts?limit=2&offset=1', undefined, session)
    expect([body.total, body.items.map((item: any) => item.name)]).to.deep.equal([3, ['b', 'a']])
    const past = await app.client(session).broadcasts.list.query({ offset: 10 })
    expect(past).to.deep.equal({ items: [], total: 3 })
    for (const query of ['limit=0', 'limit=101', 'limit=1.5', 'offset=-1', 'limit=1&limit=2']) {
      expect((await call('GET', `/api/broadcasts?${query}`, undefined, session)).status, query).to.equal(400)
    }
  })

  it('change as drafts and while scheduled, and no more once started', async () => {
    const { body: mine } = await draft({ params: { a: '1' }, description: 'first' })
    const path = `/api/broadcasts/${mine.id}`
    app.clock.advance(1000)
    const changed = await call('PATCH', path, { name: 'Later', description: null })
    expect(changed.body).to.deep.equal({
      ...mine,
      name: 'Later',
      description: null,
      updatedAt: app.clock.now().toISOString(),
    })
    await put(mine.id, 'scheduled')
    expect((await call('PATCH', path, { params: { b: '2' } })).body.params).to.deep.equal({ b: '2' })
    for (const status of ['preparing', 'sending', 'paused', 'completed', 'canceled', 'failed']) {
      await put(mine.id, status)
      const { status: code, body } = await call('PATCH', path, { name: 'Too late' })
      expect([code, body.code], status).to.deep.equal([409, 'broadcast_not_editable'])
    }
  })

  it('are deleted as drafts only', async () => {
    const { body: mine } = await draft()
    const path = `/api/broadcasts/${mine.id}`
    for (const status of ['scheduled', 'sending', 'completed', 'canceled']) {
      await put(mine.id, status)
      const { status: code, body } = await call('DELETE', path)
      expect([code, body.code], status).to.deep.equal([409, 'broadcast_not_editable'])
    }
    await put(mine.id, 'draft')
    expect((await call('DELETE', path)).status).to.equal(204)
    expect((await call('GET', path)).status).to.equal(404)
  })

  it('refuse input that is none', async () => {
    const wrong = [
      { name: '' },
      { templateId: undefined },
      { params: { name: 7 } },
      { params: { 'no name': 'x' } },
      { audience: { everybody: true } },
      { audience: { contactIds: ABSENT } },
      { status: 'sending' },
    ]
    for (const fields of wrong) {
      const { status, body } = await draft(fields)
      expect([status, body.code], JSON.stringify(fields)).to.deep.equal([400, 'validation_failed'])
    }
  })

  it('let viewers and agents look, and only admins change', async () => {
    const { body: mine } = await draft()
    for (const role of ['viewer', 'agent'] as const) {
      const session = await app.join(owner.tenantId, role)
      for (const path of ['', `/${mine.id}`, `/${mine.id}/recipients`]) {
        expect((await call('GET', `/api/broadcasts${path}`, undefined, session)).status).to.equal(200)
      }
      const refused = [
        await call('POST', '/api/broadcasts', { name: 'Mine', templateId }, session),
        await call('PATCH', `/api/broadcasts/${mine.id}`, { name: 'Mine' }, session),
        await call('DELETE', `/api/broadcasts/${mine.id}`, undefined, session),
      ]
      expect(refused.map(({ status }) => status)).to.deep.equal([403, 403, 403])
    }
  })

  it('are not seen from another workspace', async () => {
    const { body: mine } = await draft()
    const path = `/api/broadcasts/${mine.id}`
    const answers = [
      await call('GET', path, undefined, stranger),
      await call('PATCH', path, { name: 'Taken over' }, stranger),
      await call('DELETE', path, undefined, stranger),
      await call('GET', `${path}/recipients`, undefined, stranger),
      await call('GET', '/api/broadcasts/no-uuid/recipients', undefined, stranger),
    ]
    for (const { status, body } of answers) {
      expect([status, body]).to.deep.equal([404, { error: 'Broadcast not found', code: 'not_found' }])
    }
    const { broadcasts } = app.client(stranger)
    expect(await errorMessage(broadcasts.recipients.query({ id: mine.id }))).to.equal('Broadcast not found')
  })
})
