import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'

describe('templates', () => {
  let app: TestApp
  let owner: TestSession
  let stranger: TestSession
  let sandboxId: string

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
    stranger = await app.signUp()
    sandboxId = await sandboxOf(owner)
  })

  after(() => app.stop())

  const call = (method: string, path: string, body?: object, session = owner) =>
    app.rest(method, path, { session, body })

  async function sandboxOf(session: TestSession): Promise<string> {
    return (await app.client(session).channels.list.query({})).items.find(({ kind }) => kind === 'sandbox')?.id ?? ''
  }

  const sale = (name: string, rest: object = {}) => ({
    channelId: sandboxId,
    name,
    language: 'pt_BR',
    category: 'marketing',
    body: 'Oi {{name}}',
    ...rest,
  })

  it('approves at once what the sandbox is to send', async () => {
    const { status, body } = await call('POST', '/api/templates', sale('spring'))
    expect(status).to.equal(201)
    expect(body).to.include({ ...sale('spring'), status: 'approved' })
    expect(await app.client(owner).templates.get.query({ templateId: body.id })).to.include(sale('spring'))
  })

  it('leaves a draft what a provider has to approve', async () => {
    const channel = await call('POST', '/api/channels', {
      kind: 'whatsapp',
      name: 'Shop',
      phoneNumberId: '1234567890',
      accessToken: 'token',
      appSecret: 'secret',
      verifyToken: 'verify-me-please',
    })
    const { body } = await call('POST', '/api/templates', sale('summer', { channelId: channel.body.id }))
    expect(body.status).to.equal('draft')
  })

  it('has a name once for a channel and language', async () => {
    await call('POST', '/api/templates', sale('twice'))
    const again = await call('POST', '/api/templates', sale('twice'))
    expect([again.status, again.body.code]).to.deep.equal([409, 'template_exists'])
    expect((await call('POST', '/api/templates', sale('twice', { language: 'en' }))).status).to.equal(201)
  })

  it('lists templates in pages, newest first', async () => {
    const session = await app.signUp()
    const channelId = await sandboxOf(session)
    for (const name of ['a', 'b', 'c']) {
      await call('POST', '/api/templates', sale(name, { channelId }), session)
      app.clock.advance(1)
    }
    const { body } = await call('GET', '/api/templates?limit=2&offset=1', undefined, session)
    expect([body.total, body.items.map((template: any) => template.name)]).to.deep.equal([3, ['b', 'a']])
    expect((await app.client(session).templates.list.query({ offset: 5 })).total).to.equal(3)
  })

  it('deletes a template that no broadcast uses, and no other', async () => {
    const { body: used } = await call('POST', '/api/templates', sale('used'))
    const { body: draft } = await call('POST', '/api/broadcasts', { name: 'Sale', templateId: used.id })
    const refused = await call('DELETE', `/api/templates/${used.id}`)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'template_in_use'])
    await call('DELETE', `/api/broadcasts/${draft.id}`)
    expect((await call('DELETE', `/api/templates/${used.id}`)).status).to.equal(204)
    expect((await call('GET', `/api/templates/${used.id}`)).status).to.equal(404)
  })

  it('refuses input that is none', async () => {
    const wrong = [
      { name: 'Spring Sale' },
      { language: 'portuguese' },
      { category: 'spam' },
      { body: '' },
      { extra: 1 },
    ]
    for (const field of wrong) {
      const { status, body } = await call('POST', '/api/templates', sale('fine', field))
      expect([status, body.code], JSON.stringify(field)).to.deep.equal([400, 'validation_failed'])
    }
  })

  it('lets viewers and agents look, and only admins change', async () => {
    const { body: template } = await call('POST', '/api/templates', sale('locked'))
    for (const role of ['viewer', 'agent'] as const) {
      const session = await app.join(owner.tenantId, role)
      expect((await call('GET', `/api/templates/${template.id}`, undefined, session)).status).to.equal(200)
      expect((await call('POST', '/api/templates', sale('mine'), session)).status).to.equal(403)
      expect((await call('DELETE', `/api/templates/${template.id}`, undefined, session)).status).to.equal(403)
    }
  })

  it("does not see another workspace's template, nor its channel", async () => {
    const { body: template } = await call('POST', '/api/templates', sale('private'))
    const path = `/api/templates/${template.id}`
    for (const method of ['GET', 'DELETE']) {
      const { status, body } = await call(method, path, undefined, stranger)
      expect([status, body.error]).to.deep.equal([404, 'Template not found'])
    }
    expect(await errorMessage(app.client(stranger).templates.get.query({ templateId: template.id }))).to.equal(
      'Template not found',
    )
    const taken = await call('POST', '/api/templates', sale('mine'), stranger)
    expect([taken.status, taken.body.error]).to.deep.equal([404, 'Channel not found'])
  })
})
