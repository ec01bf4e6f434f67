import { expect } from 'chai'
import { rollUpCounts } from '../../../src/features/counts/maintain-counts.ts'
import type { Database } from '../../../src/platform/database/database.ts'
import { Passwords } from '../../../src/platform/security/passwords.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { WorkspaceClient } from '../../support/workspace-client.ts'

const OWNER = { email: 'olga@clinic.example', password: 'the owner of a clinic' }
const NAMES = ['Ana Souza', 'Bruno Lima', 'Inés Castro', 'José Silva']

/** Inserts a workspace with rows of each kind, each without the columns that the database fills. */
async function insertWorkspace(db: Database) {
  const insert = async (table: string, rows: object | object[], columns: string | string[] = 'id') =>
    db(table).insert(rows).returning(columns)
  const [{ id: userId }] = await insert('users', { email: OWNER.email, name: 'Olga' })
  const [{ id: tenant_id }] = await insert('workspaces', { name: 'Clinic' })
  const passwordHash = await new Passwords().hash(OWNER.password)
  await insert('credentials', { user_id: userId, password_hash: passwordHash }, 'user_id')
  await insert('memberships', { workspace_id: tenant_id, user_id: userId, role: 'owner' }, 'user_id')
  const [{ id: channel_id }] = await insert('channels', { tenant_id, kind: 'sandbox', name: 'Sandbox' })
  await insert('channel_routes', { channel_id, tenant_id }, 'channel_id')
  const people = NAMES.map((name, index) => ({ tenant_id, name, phone: `+551190000000${index}` }))
  const contacts = (await insert('contacts', people)).map(({ id }) => ({ tenant_id, contact_id: id }))
  const [{ id: tag_id }] = await insert('tags', { tenant_id, name: 'vip' })
  const [{ id: group_id }] = await insert('groups', { tenant_id, name: 'Brazil' })
  await db('contact_tags').insert(contacts.map((contact) => ({ ...contact, tag_id })))
  await db('group_contacts').insert(contacts.slice(1).map((contact) => ({ ...contact, group_id })))
  const [{ id: conversation_id }] = await insert('conversations', { ...contacts[0], channel_id })
  const sender = { type: 'contact', id: contacts[0]?.contact_id, name: 'Ana Souza' }
  const message = { ...contacts[0], channel_id, conversation_id, direction: 'inbound', status: 'received', sender }
  await insert('messages', { ...message, body: 'Hello' })
  const [{ id: workflowId }] = await insert('workflows', { tenant_id, name: 'Welcome' })
  const template = { tenant_id, channel_id, name: 'sale', language: 'en', category: 'utility', body: 'Hi' }
  const components = JSON.stringify([{ type: 'body', text: 'Hi' }])
  const [{ id: template_id }] = await insert('templates', { ...template, status: 'approved', components })
  await insert('broadcasts', { tenant_id, channel_id, template_id, name: 'Sale', audience: { tagIds: [tag_id] } })
  return { userId, tenantId: tenant_id, conversationId: conversation_id, groupId: group_id, workflowId }
}

describe('a workspace that knex inserts', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let ids: Awaited<ReturnType<typeof insertWorkspace>>

  before(async () => {
    app = await startTestApp()
    ids = await insertWorkspace(app.system.db)
    const { headers, status } = await app.rest('POST', '/api/auth/sign-in/email', { body: OWNER })
    expect(status).to.equal(200)
    const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? ''
    workspace = new WorkspaceClient(app, { ...OWNER, cookie, tenantId: ids.tenantId, userId: ids.userId })
  })

  after(() => app.stop())

  const read = (path: string) => workspace.call('GET', path)
  const readTotal = async (path: string): Promise<[number, number]> => {
    const { items, total } = await read(path)
    return [items.length, total]
  }

  it('has each row in its list, total, tag, group and search, before and after a roll-up', async () => {
    for (let round = 0; round < 2; round += 1) {
      expect(await readTotal('/api/contacts')).to.deep.equal([4, 4])
      expect(await readTotal('/api/contacts?q=ines')).to.deep.equal([1, 1])
      expect(await readTotal('/api/contacts?q=%2B5511900000003')).to.deep.equal([1, 1])
      expect(await readTotal('/api/contacts?tag=vip')).to.deep.equal([4, 4])
      expect(await readTotal(`/api/contacts?groupId=${ids.groupId}`)).to.deep.equal([3, 3])
      expect(await readTotal(`/api/groups/${ids.groupId}/contacts`)).to.deep.equal([3, 3])
      expect(await readTotal('/api/conversations')).to.deep.equal([1, 1])
      expect(await readTotal('/api/broadcasts')).to.deep.equal([1, 1])
      expect((await read('/api/tags')).items[0]).to.include({ name: 'vip', color: '#64748B', contactCount: 4 })
      expect((await read('/api/groups')).items[0]).to.include({ name: 'Brazil', contactCount: 3 })
      await rollUpCounts(app.system)
    }
  })

  it('has rows with the values of a new one where the seed names none', async () => {
    const [contact] = (await read('/api/contacts?q=Ana')).items
    expect(contact).to.deep.include({ source: 'import', fields: {}, blocked: false })
    expect((await read(`/api/conversations/${ids.conversationId}`)).status).to.equal('active')
    const { messages } = await read(`/api/conversations/${ids.conversationId}/messages`)
    expect(messages[0]).to.include({ type: 'text', body: 'Hello' })
    const [broadcast] = (await read('/api/broadcasts')).items
    expect(broadcast).to.deep.include({ status: 'draft' })
    expect((await read(`/api/workflows/${ids.workflowId}`)).definition).to.deep.equal({
      version: 1,
      triggers: [],
      steps: [],
    })
  })

  it('works: its draft is changed and published, and answers a customer, whose contact it is', async () => {
    const path = `/api/workflows/${ids.workflowId}`
    const steps = [{ id: 'a', type: 'send_message', message: { body: 'Hi {{contact.name}}' } }]
    await workspace.call('PATCH', path, { definition: { version: 1, triggers: [{ type: 'message_received' }], steps } })
    expect((await workspace.call('POST', `${path}/publish`, {})).status).to.equal('published')
    await workspace.call('POST', '/api/sandbox/messages', { phone: '+551100000000', body: 'Hello again' })
    await app.work()
    const { messages } = await read(`/api/conversations/${ids.conversationId}/messages`)
    expect(messages.map(({ body }: { body: string }) => body)).to.have.members(['Hello', 'Hello again', 'Hi Ana Souza'])
    expect((await read('/api/contacts')).total).to.equal(4)
  })
})
