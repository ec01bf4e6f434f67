import { expect } from 'chai'
import { VERSIONS } from '../../../src/features/publishing/publish-workflow.ts'
import {
  buildChannel,
  buildContact,
  buildTemplate,
  buildWorkflow,
  buildWorkspace,
  getSandboxId,
  publishWorkflow,
  sendAsCustomer,
} from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Kind = {
  table: string
  max: number
  code: string
  /** Prepares what rows refer to, and returns the function that creates one, by its number. */
  prepare: () => Promise<(number: number) => Promise<ApiResponse>>
  path: string
  /** Rows of the kind that a new workspace has. */
  existing?: number
}

describe('limits of rows', function () {
  this.timeout(120_000)
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  const post = (path: string, body: object) => workspace.request('POST', path, body)
  const named = (path: string) => () => Promise.resolve((number: number) => post(path, { name: `name ${number}` }))

  /** Copies a row, with other names. */
  async function copyRow(table: string, id: string, count: number): Promise<void> {
    await app.system.db.raw(
      `insert into ${table} select (jsonb_populate_record(t, jsonb_build_object('id', new.id, 'name', 'copy_' || replace(new.id::text, '-', '')))).*
       from ${table} t, (select gen_random_uuid() as id from generate_series(1, ?)) new where t.tenant_id = ? and t.id = ?`,
      [count, workspace.tenantId, id],
    )
  }

  const KINDS: Kind[] = [
    {
      table: 'workflows',
      max: 1000,
      code: 'too_many_workflows',
      path: '/api/workflows',
      prepare: named('/api/workflows'),
    },
    { table: 'groups', max: 5000, code: 'too_many_groups', path: '/api/groups', prepare: named('/api/groups') },
    { table: 'tags', max: 5000, code: 'too_many_tags', path: '/api/tags', prepare: named('/api/tags') },
    {
      table: 'channels',
      max: 100,
      code: 'too_many_channels',
      path: '/api/channels',
      existing: 1,
      prepare: () =>
        Promise.resolve((number) =>
          post('/api/channels', {
            type: 'whatsapp',
            name: `name ${number}`,
            phoneNumberId: String(7_000_000 + number),
            accessToken: 'access-token',
            appSecret: 'a'.repeat(32),
            verifyToken: 'verify-token',
          }),
        ),
    },
    {
      table: 'http_credentials',
      max: 200,
      code: 'too_many_credentials',
      path: '/api/credentials',
      prepare: () =>
        Promise.resolve((number) =>
          post('/api/credentials', {
            name: `name ${number}`,
            placement: { type: 'bearer' },
            allowedHosts: ['shop.example.com'],
            secret: 'canary-secret-of-the-shop',
          }),
        ),
    },
    {
      table: 'templates',
      max: 10_000,
      code: 'too_many_templates',
      path: '/api/templates',
      prepare: async () => {
        const channelId = await getSandboxId(workspace)
        const template = { channelId, language: 'en', category: 'utility', body: 'Hi' }
        return (number) => post('/api/templates', { ...template, name: `name_${number}` })
      },
    },
    {
      table: 'broadcasts',
      max: 1000,
      code: 'too_many_broadcasts',
      path: '/api/broadcasts',
      prepare: async () => {
        const { id: templateId } = await buildTemplate(workspace)
        return (number) => post('/api/broadcasts', { name: `name ${number}`, templateId })
      },
    },
  ]

  for (const { table, max, code, path, prepare, existing = 0 } of KINDS) {
    it(`POST ${path} returns 409 ${code} when there are ${max}, and creates one again after one is deleted`, async () => {
      const create = await prepare()
      const { body: first } = await create(1)
      await copyRow(table, first.id, max - existing - 2)
      const last = await create(2)
      expect(last.status, JSON.stringify(last.body)).to.equal(201)
      const refused = await create(3)
      expect([refused.status, refused.body.code]).to.deep.equal([409, code])
      expect(refused.body.error).to.include(`at most ${max}`)
      expect((await workspace.request('DELETE', `${path}/${last.body.id}`)).status).to.equal(204)
      expect((await create(3)).status).to.equal(201)
    })
  }

  it('POST /api/workflows/{workflowId}/duplicate returns 409 too_many_workflows when there are 1000', async () => {
    const { id } = await buildWorkflow(workspace, {}, { publish: false })
    await copyRow('workflows', id, 999)
    const { status, body } = await post(`/api/workflows/${id}/duplicate`, {})
    expect([status, body.code]).to.deep.equal([409, 'too_many_workflows'])
  })

  it('broadcasts that were canceled do not count, and keep no phone numbers', async () => {
    const { id: templateId } = await buildTemplate(workspace)
    const audience = { recipients: [{ phone: '+4917000000001' }] }
    const draft = await workspace.call('POST', '/api/broadcasts', { name: 'Sale', templateId, audience })
    await copyRow('broadcasts', draft.id, 999)
    expect((await post('/api/broadcasts', { name: 'Next', templateId })).status).to.equal(409)
    await workspace.call('POST', `/api/broadcasts/${draft.id}/cancel`, {})
    const phones = await app.system.db('broadcast_phones').where('broadcast_id', draft.id)
    expect(phones).to.deep.equal([])
    expect((await post('/api/broadcasts', { name: 'Next', templateId })).status).to.equal(201)
  })

  it('tags are limited for members, whose contacts may get existing ones, and not for runs', async () => {
    const { id } = await workspace.call('POST', '/api/tags', { name: 'vip' })
    await copyRow('tags', id, 4998)
    const created = await buildContact(workspace, { tags: ['vip', 'last'] })
    expect(created.tags).to.have.length(2)
    const { status, body } = await workspace.request('PATCH', `/api/contacts/${created.id}`, { addTags: ['next'] })
    expect([status, body.code]).to.deep.equal([409, 'too_many_tags'])
    expect((await workspace.request('PATCH', `/api/contacts/${created.id}`, { tags: ['VIP'] })).status).to.equal(200)
    await buildWorkflow(workspace, { steps: [{ id: 'mark', type: 'add_tag', tags: ['by run'] }] })
    const { contactId } = await sendAsCustomer(workspace)
    await app.work()
    const { tags } = await workspace.call('GET', `/api/contacts/${contactId}`)
    expect(tags.map(({ name }: { name: string }) => name)).to.deep.equal(['by run'])
  })

  const test = { name: 'T', dialogue: [], expectation: {} }

  it('workflow tests are limited to 100 of a workflow and 2000 of a workspace, and to 256 KB each', async () => {
    const [one, other] = [await buildWorkflow(workspace, {}), await buildWorkflow(workspace, {})]
    const path = `/api/workflows/${one.id}/tests`
    const large = await post(path, { ...test, input: { text: 'a'.repeat(256 * 1024) } })
    expect([large.status, large.body.code]).to.deep.equal([422, 'test_too_large'])
    const first = await workspace.call('POST', path, { ...test, input: { text: 'a'.repeat(255 * 1024) } })
    await copyRow('workflow_tests', first.id, 99)
    const full = await post(path, { ...test, name: 'Next' })
    expect([full.status, full.body.code]).to.deep.equal([409, 'too_many_tests'])
    expect((await post(`/api/workflows/${other.id}/tests`, test)).status).to.equal(201)
    await app.system.db('workflow_tests').where({ id: first.id }).update({ input: '{}' })
    await copyRow('workflow_tests', first.id, 1899)
    const all = await post(`/api/workflows/${other.id}/tests`, { ...test, name: 'Next' })
    expect([all.status, all.body.code]).to.deep.equal([409, 'too_many_tests'])
    expect(all.body.error).to.include('at most 2000')
  })

  it('versions have a limited size together, beyond which an unchanged draft can still be published', async () => {
    const { id } = await buildWorkflow(workspace, {})
    const { bytesMax } = VERSIONS
    VERSIONS.bytesMax = 100
    try {
      expect((await publishWorkflow(workspace, id)).version).to.equal(1)
      const definition = { version: 1, triggers: [], steps: [{ id: 'mark', type: 'add_tag', tags: ['a'] }] }
      await workspace.call('PATCH', `/api/workflows/${id}`, { definition })
      const { status, body } = await post(`/api/workflows/${id}/publish`, {})
      expect([status, body.code]).to.deep.equal([409, 'too_many_versions'])
    } finally {
      VERSIONS.bytesMax = bytesMax
    }
    expect((await publishWorkflow(workspace, id)).version).to.equal(2)
  })

  it('rows of another workspace do not count', async () => {
    const { id } = await buildChannel(workspace)
    await copyRow('channels', id, 98)
    expect((await buildChannel(await buildWorkspace(app))).id).to.be.a('string')
    expect((await post('/api/channels', {})).status).to.equal(400)
  })
})
