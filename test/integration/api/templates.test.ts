import { expect } from 'chai'
import { buildChannel, buildMember, buildWorkspace, getSandboxId } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('templates API', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let outsider: WorkspaceClient
  let sandboxId: string

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
    outsider = await buildWorkspace(app)
    sandboxId = await getSandboxId(owner)
  })

  after(() => app.stop())

  const saleTemplate = (name: string, rest: object = {}) => ({
    channelId: sandboxId,
    name,
    language: 'pt_BR',
    category: 'marketing',
    body: 'Oi {{name}}',
    ...rest,
  })

  it('POST /api/templates approves a template of the sandbox channel immediately', async () => {
    const { status, body } = await owner.request('POST', '/api/templates', saleTemplate('spring'))
    expect(status).to.equal(201)
    expect(body).to.include({ ...saleTemplate('spring'), status: 'approved' })
    expect(await app.client(owner).templates.get.query({ templateId: body.id })).to.include(saleTemplate('spring'))
  })

  it('POST /api/templates creates a draft on a channel whose provider approves templates', async () => {
    const channel = await buildChannel(owner)
    const { body } = await owner.request('POST', '/api/templates', saleTemplate('summer', { channelId: channel.id }))
    expect(body.status).to.equal('draft')
  })

  it('POST /api/templates returns 409 when the name is taken in the same channel and language', async () => {
    await owner.request('POST', '/api/templates', saleTemplate('twice'))
    const conflict = await owner.request('POST', '/api/templates', saleTemplate('twice'))
    expect([conflict.status, conflict.body.code]).to.deep.equal([409, 'template_exists'])
    expect((await owner.request('POST', '/api/templates', saleTemplate('twice', { language: 'en' }))).status).to.equal(
      201,
    )
  })

  it('GET /api/templates returns pages, newest first, with the total', async () => {
    const workspace = await buildWorkspace(app)
    const channelId = await getSandboxId(workspace)
    for (const name of ['a', 'b', 'c']) {
      await workspace.request('POST', '/api/templates', saleTemplate(name, { channelId }))
      app.clock.advance(1)
    }
    const { body } = await workspace.request('GET', '/api/templates?limit=2&offset=1')
    expect([body.total, body.items.map((template: any) => template.name)]).to.deep.equal([3, ['b', 'a']])
    expect((await app.client(workspace).templates.list.query({ offset: 5 })).total).to.equal(3)
  })

  it('GET /api/templates filters by status, category, channel and a part of the name', async () => {
    const workspace = await buildWorkspace(app)
    const sandbox = await getSandboxId(workspace)
    const other = (await buildChannel(workspace)).id
    const templates = [
      saleTemplate('spring_sale', { channelId: sandbox }),
      saleTemplate('spring_receipt', { channelId: sandbox, category: 'utility' }),
      saleTemplate('winter_sale', { channelId: other }),
    ]
    for (const template of templates) await workspace.call('POST', '/api/templates', template)
    const list = async (query: string) => {
      const { items, total } = await workspace.call('GET', `/api/templates?${query}`)
      expect(total).to.equal(items.length)
      return items.map(({ name }: { name: string }) => name).sort()
    }
    expect(await list('status=draft')).to.deep.equal(['winter_sale'])
    expect(await list('category=utility')).to.deep.equal(['spring_receipt'])
    expect(await list(`channelId=${sandbox.toUpperCase()}`)).to.deep.equal(['spring_receipt', 'spring_sale'])
    expect(await list('name=SALE')).to.deep.equal(['spring_sale', 'winter_sale'])
    expect(await list('name=sale&status=approved&category=marketing')).to.deep.equal(['spring_sale'])
    expect(await list('name=%25')).to.deep.equal([])
    expect((await workspace.request('GET', '/api/templates?status=open')).status).to.equal(400)
  })

  it('DELETE /api/templates/{templateId} returns 409 while a broadcast uses the template', async () => {
    const { body: used } = await owner.request('POST', '/api/templates', saleTemplate('used'))
    const { body: draft } = await owner.request('POST', '/api/broadcasts', { name: 'Sale', templateId: used.id })
    const conflict = await owner.request('DELETE', `/api/templates/${used.id}`)
    expect([conflict.status, conflict.body.code]).to.deep.equal([409, 'template_in_use'])
    await owner.request('DELETE', `/api/broadcasts/${draft.id}`)
    expect((await owner.request('DELETE', `/api/templates/${used.id}`)).status).to.equal(204)
    expect((await owner.request('GET', `/api/templates/${used.id}`)).status).to.equal(404)
  })

  it('POST /api/templates returns 400 for invalid and unknown fields', async () => {
    const invalid = [
      { name: 'Spring Sale' },
      { language: 'portuguese' },
      { category: 'spam' },
      { body: '' },
      { extra: 1 },
    ]
    for (const field of invalid) {
      const { status, body } = await owner.request('POST', '/api/templates', saleTemplate('fine', field))
      expect([status, body.code], JSON.stringify(field)).to.deep.equal([400, 'validation_failed'])
    }
  })

  it('templates can be read by viewers and agents but changed only by admins', async () => {
    const { body: template } = await owner.request('POST', '/api/templates', saleTemplate('locked'))
    for (const role of ['viewer', 'agent'] as const) {
      const member = await buildMember(owner, role)
      expect((await member.request('GET', `/api/templates/${template.id}`)).status).to.equal(200)
      expect((await member.request('POST', '/api/templates', saleTemplate('other'))).status).to.equal(403)
      expect((await member.request('DELETE', `/api/templates/${template.id}`)).status).to.equal(403)
    }
  })

  it('templates and channels of another workspace return 404', async () => {
    const { body: template } = await owner.request('POST', '/api/templates', saleTemplate('private'))
    const path = `/api/templates/${template.id}`
    for (const method of ['GET', 'DELETE']) {
      const { status, body } = await outsider.request(method, path)
      expect([status, body.error]).to.deep.equal([404, 'Template not found'])
    }
    expect(await errorMessage(app.client(outsider).templates.get.query({ templateId: template.id }))).to.equal(
      'Template not found',
    )
    const response = await outsider.request('POST', '/api/templates', saleTemplate('other'))
    expect([response.status, response.body.error]).to.deep.equal([404, 'Channel not found'])
  })
})
