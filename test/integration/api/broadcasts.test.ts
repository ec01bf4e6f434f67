import { expect } from 'chai'
import {
  buildChannel,
  buildContact,
  buildMember,
  buildTemplate,
  buildWorkspace,
  getSandboxId,
  newPhone,
} from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const UNKNOWN_ID = '0199a7a0-ffff-7000-8000-000000000000'
const NO_IDS = { groupIds: [], tagIds: [], contactIds: [] }
const STATUSES = ['pending', 'sending', 'sent', 'delivered', 'read', 'failed', 'skipped', 'canceled', 'unknown']

describe('broadcasts API', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let outsider: WorkspaceClient
  let templateId: string
  let sandboxId: string

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
    outsider = await buildWorkspace(app)
    sandboxId = await getSandboxId(owner)
    templateId = (await buildTemplate(owner, { body: 'Hi {{name}}' })).id
  })

  after(() => app.stop())

  const createDraft = (body: object = {}) =>
    owner.request('POST', '/api/broadcasts', { name: 'Sale', templateId, ...body })

  /** Sets a status that no request of the API sets. */
  async function setStatus(id: string, status: string): Promise<void> {
    await app.system.db('broadcasts').where({ tenant_id: owner.tenantId, id }).update({ status })
  }

  it('POST /api/broadcasts creates a draft with an empty audience from a name and a template', async () => {
    const { status, body } = await createDraft()
    expect(status).to.equal(201)
    expect(body).to.deep.include({
      name: 'Sale',
      description: null,
      status: 'draft',
      channelId: sandboxId,
      template: { id: templateId, name: 'sale', language: 'en' },
      params: {},
      audience: { ...NO_IDS, recipientCount: 0, filter: null, exclude: NO_IDS },
      counts: {
        total: 0,
        accepted: 0,
        replied: 0,
        optedOut: 0,
        ...Object.fromEntries(STATUSES.map((name) => [name, 0])),
      },
      scheduledAt: null,
      startedAt: null,
      finishedAt: null,
      createdBy: { type: 'user', id: owner.userId, name: 'Ada' },
    })
  })

  it('POST /api/broadcasts sends nothing to the audience of a draft', async () => {
    const { id: contactId } = await buildContact(owner)
    const { body } = await createDraft({ audience: { contactIds: [contactId] } })
    await app.work()
    const recipients = await owner.call('GET', `/api/broadcasts/${body.id}/recipients`)
    expect(recipients).to.deep.equal({ items: [], total: 0 })
    expect((await owner.call('GET', '/api/conversations')).total).to.equal(0)
  })

  it('POST /api/broadcasts stores the audience and the template parameters', async () => {
    const contact = await buildContact(owner)
    const group = await owner.call('POST', '/api/groups', { name: 'Regulars' })
    const tag = await owner.call('POST', '/api/tags', { name: 'VIP' })
    const audience = { groupIds: [group.id], tagIds: [tag.id], contactIds: [contact.id] }
    const input = { name: 'All', templateId, channelId: sandboxId, params: { name: '{{contact.name}}' }, audience }
    const created = await app.client(owner).broadcasts.create.mutate(input)
    expect(created).to.deep.include({ ...input, audience: { ...created.audience, ...audience } })
    expect(await app.client(owner).broadcasts.get.query({ broadcastId: created.id })).to.deep.equal(created)
  })

  it('POST and PATCH /api/broadcasts return 404 for records of another workspace', async () => {
    const template = await buildTemplate(outsider)
    const group = await outsider.call('POST', '/api/groups', { name: 'Theirs' })
    const tag = await outsider.call('POST', '/api/tags', { name: 'Theirs' })
    const contact = await buildContact(outsider)
    const ownContact = await buildContact(owner)
    const cases: [object, string][] = [
      [{ templateId: template.id }, 'Template not found'],
      [{ channelId: template.channelId }, 'Channel not found'],
      [{ audience: { groupIds: [group.id] } }, 'Group not found'],
      [{ audience: { tagIds: [tag.id] } }, 'Tag not found'],
      [{ audience: { contactIds: [ownContact.id, contact.id] } }, 'Contact not found'],
      [{ audience: { contactIds: [UNKNOWN_ID] } }, 'Contact not found'],
      [{ audience: { groupIds: ['no-uuid'] } }, 'Group not found'],
    ]
    const { body: broadcast } = await createDraft()
    for (const [fields, error] of cases) {
      for (const response of [
        await createDraft(fields),
        await owner.request('PATCH', `/api/broadcasts/${broadcast.id}`, fields),
      ]) {
        expect([response.status, response.body.error], JSON.stringify(fields)).to.deep.equal([404, error])
      }
    }
  })

  it('a broadcast uses the channel of its template and returns 422 for another one', async () => {
    const channel = await buildChannel(owner)
    const other = await createDraft({ channelId: channel.id })
    expect([other.status, other.body.code]).to.deep.equal([422, 'template_of_other_channel'])
    const template = await buildTemplate(owner, { channelId: channel.id })
    const { body: broadcast } = await createDraft()
    const moved = await owner.request('PATCH', `/api/broadcasts/${broadcast.id}`, { templateId: template.id })
    expect([moved.status, moved.body.channelId]).to.deep.equal([200, channel.id])
  })

  it('GET /api/broadcasts returns pages, newest first, and 400 for invalid pagination', async () => {
    const workspace = await buildWorkspace(app)
    const template = await buildTemplate(workspace)
    for (const name of ['a', 'b', 'c']) {
      await workspace.request('POST', '/api/broadcasts', { name, templateId: template.id })
      app.clock.advance(1)
    }
    const { body } = await workspace.request('GET', '/api/broadcasts?limit=2&offset=1')
    expect([body.total, body.items.map((item: any) => item.name)]).to.deep.equal([3, ['b', 'a']])
    const past = await app.client(workspace).broadcasts.list.query({ offset: 10 })
    expect(past).to.deep.equal({ items: [], total: 3 })
    for (const query of ['limit=0', 'limit=101', 'limit=1.5', 'offset=-1', 'limit=1&limit=2']) {
      expect((await workspace.request('GET', `/api/broadcasts?${query}`)).status, query).to.equal(400)
    }
  })

  it('PATCH /api/broadcasts/{broadcastId} returns 409 once the broadcast has started', async () => {
    const { body: broadcast } = await createDraft({ params: { name: '1' }, description: 'first' })
    const path = `/api/broadcasts/${broadcast.id}`
    app.clock.advance(1000)
    const changed = await owner.request('PATCH', path, { name: 'Later', description: null })
    expect(changed.body).to.deep.equal({
      ...broadcast,
      name: 'Later',
      description: null,
      updatedAt: app.clock.now().toISOString(),
    })
    await setStatus(broadcast.id, 'scheduled')
    expect((await owner.request('PATCH', path, { params: { name: '2' } })).body.params).to.deep.equal({ name: '2' })
    for (const status of ['preparing', 'sending', 'paused', 'completed', 'canceled', 'failed']) {
      await setStatus(broadcast.id, status)
      const { status: code, body } = await owner.request('PATCH', path, { name: 'Too late' })
      expect([code, body.code], status).to.deep.equal([409, 'broadcast_not_editable'])
    }
  })

  it('DELETE /api/broadcasts/{broadcastId} returns 409 unless the broadcast is a draft', async () => {
    const { body: broadcast } = await createDraft()
    const path = `/api/broadcasts/${broadcast.id}`
    for (const status of ['scheduled', 'sending', 'completed', 'canceled']) {
      await setStatus(broadcast.id, status)
      const { status: code, body } = await owner.request('DELETE', path)
      expect([code, body.code], status).to.deep.equal([409, 'broadcast_not_editable'])
    }
    await setStatus(broadcast.id, 'draft')
    expect((await owner.request('DELETE', path)).status).to.equal(204)
    expect((await owner.request('GET', path)).status).to.equal(404)
  })

  it('POST and PATCH /api/broadcasts return 422 for parameters that are no variables of the template', async () => {
    const recipients = [{ phone: newPhone(), params: { name: 'Eve', nmae: 'Eve' } }]
    const draft = await createDraft()
    for (const input of [{ params: { nmae: 'x' } }, { audience: { recipients } }]) {
      for (const response of [
        await createDraft(input),
        await owner.request('PATCH', `/api/broadcasts/${draft.body.id}`, input),
      ]) {
        expect([response.status, response.body.code]).to.deep.equal([422, 'template_params_invalid'])
        expect(response.body.details).to.deep.equal([
          {
            path: 'params' in input ? 'params.nmae' : 'audience.recipients.0.params.nmae',
            message: 'is not a variable of the template',
          },
        ])
      }
    }
    expect((await owner.call('GET', `/api/broadcasts/${draft.body.id}`)).params).to.deep.equal({})
  })

  it('POST /api/broadcasts returns 400 for invalid and unknown fields', async () => {
    const invalid = [
      { name: '' },
      { templateId: undefined },
      { params: { name: 7 } },
      { params: { 'no name': 'x' } },
      { params: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`p${index}`, 'x'])) },
      { audience: { everybody: true } },
      { audience: { contactIds: UNKNOWN_ID } },
      { status: 'sending' },
    ]
    for (const fields of invalid) {
      const { status, body } = await createDraft(fields)
      expect([status, body.code], JSON.stringify(fields)).to.deep.equal([400, 'validation_failed'])
    }
  })

  it('broadcasts can be read by viewers and agents but changed only by admins', async () => {
    const { body: broadcast } = await createDraft()
    for (const role of ['viewer', 'agent'] as const) {
      const member = await buildMember(owner, role)
      for (const path of ['', `/${broadcast.id}`, `/${broadcast.id}/recipients`]) {
        expect((await member.request('GET', `/api/broadcasts${path}`)).status).to.equal(200)
      }
      const responses = [
        await member.request('POST', '/api/broadcasts', { name: 'Mine', templateId }),
        await member.request('PATCH', `/api/broadcasts/${broadcast.id}`, { name: 'Mine' }),
        await member.request('DELETE', `/api/broadcasts/${broadcast.id}`),
      ]
      expect(responses.map(({ status }) => status)).to.deep.equal([403, 403, 403])
    }
  })

  it('/api/broadcasts/{broadcastId} returns 404 for a broadcast of another workspace', async () => {
    const { body: broadcast } = await createDraft()
    const path = `/api/broadcasts/${broadcast.id}`
    const responses = [
      await outsider.request('GET', path),
      await outsider.request('PATCH', path, { name: 'Taken over' }),
      await outsider.request('DELETE', path),
      await outsider.request('GET', `${path}/recipients`),
      await outsider.request('GET', '/api/broadcasts/no-uuid/recipients'),
    ]
    for (const { status, body } of responses) {
      expect([status, body]).to.deep.equal([
        404,
        { error: 'Broadcast not found', code: 'not_found', docUrl: '/docs/errors#not_found' },
      ])
    }
    const { broadcasts } = app.client(outsider)
    expect(await errorMessage(broadcasts.listRecipients.query({ broadcastId: broadcast.id }))).to.equal(
      'Broadcast not found',
    )
  })
})
