import { expect } from 'chai'
import { newId } from '../../../src/platform/ids.ts'
import { buildContact, buildTemplate, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('broadcast recipients API', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let templateId: string

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
    templateId = (await buildTemplate(owner)).id
  })

  after(() => app.stop())

  const createDraft = () => owner.call('POST', '/api/broadcasts', { name: 'Sale', templateId })

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

  it('GET /api/broadcasts/{broadcastId}/recipients lists recipients with delivery status, newest first', async () => {
    const broadcast = await createDraft()
    const other = await createDraft()
    const ana = await buildContact(owner)
    const bo = await buildContact(owner, { name: 'Bo' })
    const failedAt = app.clock.now()
    const error = { code: 'undeliverable', message: 'Not reachable' }
    const failed = {
      address: '+14155559999',
      status: 'failed',
      error: JSON.stringify(error),
      failed_at: failedAt,
      attempt: 2,
    }
    const first = await addRecipient(broadcast.id, ana.id, failed)
    app.clock.advance(1)
    const second = await addRecipient(broadcast.id, bo.id)
    await addRecipient(other.id, ana.id)
    const path = `/api/broadcasts/${broadcast.id}/recipients`
    const { status, body } = await owner.request('GET', path)
    expect([status, body.total, body.items.map(({ id }: any) => id)]).to.deep.equal([200, 2, [second, first]])
    expect(body.items[1]).to.deep.equal({
      id: first,
      broadcastId: broadcast.id,
      contactId: ana.id,
      contact: { id: ana.id, name: 'Ana' },
      address: '+14155559999',
      status: 'failed',
      skipReason: null,
      error,
      params: {},
      messageId: null,
      providerMessageId: null,
      attempt: 2,
      dueAt: '1970-01-01T00:00:00.000Z',
      repliedAt: null,
      optedOutAt: null,
      sentAt: null,
      deliveredAt: null,
      readAt: null,
      failedAt: failedAt.toISOString(),
      createdAt: failedAt.toISOString(),
      updatedAt: failedAt.toISOString(),
    })
    const { listRecipients } = app.client(owner).broadcasts
    const page = await listRecipients.query({ broadcastId: broadcast.id, limit: 1, offset: 1 })
    expect([page.total, page.items[0]?.id]).to.deep.equal([2, first])
    const pending = await owner.request('GET', `${path}?status=pending`)
    expect(pending.body.items.map(({ id }: any) => id)).to.deep.equal([second])
    expect((await owner.request('GET', `${path}?status=lost`)).status).to.equal(400)
  })
})
