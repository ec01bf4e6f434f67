import { expect } from 'chai'
import { HOUR } from '../../../src/platform/time.ts'
import { buildContact, buildMember, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { importCsv } from '../../support/imports.ts'
import { createResources, type Ids } from '../../support/procedure-inputs.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { readEvents } from '../../support/webhook-receiver.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Case = { type: string; path: (ids: Ids) => string; change: (ids: Ids, now: Date) => object; changed: string[] }

const CONTACT = { type: 'contact.updated', path: ({ contact }: Ids) => `/api/contacts/${contact}` }
const CONVERSATION = {
  type: 'conversation.updated',
  path: ({ conversation }: Ids) => `/api/conversations/${conversation}`,
}
const BROADCAST = { type: 'broadcast.updated', path: ({ broadcast }: Ids) => `/api/broadcasts/${broadcast}` }
const RECIPIENTS = {
  recipients: [
    { phone: '+4915100000097', params: {} },
    { phone: '+4915100000095', name: 'Bo' },
  ],
}

const CASES: Case[] = [
  {
    ...CONTACT,
    change: () => ({
      name: 'Ana Souza',
      phone: '+5511900000077',
      fields: { plan: 'gold', city: 'Lima' },
      tags: ['vip'],
    }),
    changed: ['name', 'phone', 'country', 'fields', 'tags'],
  },
  { ...CONTACT, change: () => ({ consent: { marketing: 'opted_in' }, name: 'Ana Souza' }), changed: ['consent'] },
  { ...CONTACT, change: () => ({ addTags: ['VIP', 'new'], email: null, blocked: true }), changed: ['blocked', 'tags'] },
  {
    ...CONTACT,
    change: () => ({ externalId: 'crm-7', timezone: 'Europe/Berlin' }),
    changed: ['timezone', 'externalId'],
  },
  { ...CONVERSATION, change: ({ user }) => ({ assigneeId: user }), changed: ['assigneeId'] },
  { ...CONVERSATION, change: () => ({ automation: { state: 'paused' } }), changed: ['automation'] },
  {
    type: 'workflow.updated',
    path: ({ workflow }) => `/api/workflows/${workflow}`,
    change: () => ({ name: 'Renamed', description: null }),
    changed: ['name'],
  },
  {
    type: 'template.updated',
    path: ({ template }) => `/api/templates/${template}`,
    change: () => ({ name: 'sale_two', body: 'Hello {{customer}}' }),
    changed: ['name', 'body', 'components', 'parameterFormat', 'variables'],
  },
  {
    ...BROADCAST,
    change: () => ({ name: 'Sale', requiresOptIn: true, params: {} }),
    changed: ['name', 'requiresOptIn'],
  },
  { ...BROADCAST, change: () => ({ audience: RECIPIENTS }), changed: ['audience'] },
  {
    ...BROADCAST,
    change: () => ({ audience: { recipients: RECIPIENTS.recipients.toReversed(), exclude: { tagIds: [] } } }),
    changed: ['audience'],
  },
  {
    type: 'workspace.updated',
    path: () => '/api/workspace',
    change: () => ({ name: 'Casa', timezone: 'Asia/Tokyo', language: 'en' }),
    changed: ['name', 'timezone'],
  },
  {
    type: 'webhook_endpoint.updated',
    path: ({ webhookEndpoint }) => `/api/webhook-endpoints/${webhookEndpoint}`,
    change: () => ({ url: 'https://other.invalid/', types: ['message.*'] }),
    changed: ['url', 'types'],
  },
]

describe('the event of an update', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let ids: Ids

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    workspace = await buildWorkspace(app)
    ids = await createResources(workspace)
    await workspace.call('PATCH', `/api/webhook-endpoints/${ids.webhookEndpoint}`, { types: ['member.*'] })
    await workspace.call('PATCH', '/api/workspace', { language: 'en' })
    await app.work()
  })

  after(() => app.stop())

  /** Returns the data of the events of a type that `work` makes. */
  async function listData(type: string, work: () => Promise<unknown>) {
    const { nextCursor: start } = await workspace.call('GET', '/api/events?after=latest')
    await work()
    await app.work()
    const { items } = await workspace.call('GET', `/api/events?after=${start}&types=${type}`)
    return items.map(({ data }: { data: { changed: string[] } }) => data)
  }

  for (const [index, { type, path, change, changed }] of CASES.entries()) {
    it(`${type} names ${changed.join(', ')} for a change of these (${index + 1}), and its repetition has none`, async () => {
      const patch = () => workspace.call('PATCH', path(ids), change(ids, app.clock.now()))
      const events = await listData(type, patch)
      expect(events.map((data: { changed: string[] }) => data.changed)).to.deep.equal([changed])
      expect(await listData(type, patch)).to.deep.equal([])
    })
  }

  it('names the revision of a draft that is stored again, and the definition only if it differs', async () => {
    const save = (steps: object[]) => () =>
      workspace.call('PATCH', `/api/workflows/${ids.workflow}`, { definition: { version: 1, triggers: [], steps } })
    const steps = [{ id: 'other', type: 'send_message', body: 'Other' }]
    const data = { workflowId: ids.workflow }
    expect(await listData('workflow.updated', save(steps))).to.deep.equal([
      { ...data, changed: ['definition', 'draftRevision'] },
    ])
    expect(await listData('workflow.updated', save(steps))).to.deep.equal([{ ...data, changed: ['draftRevision'] }])
  })

  it('names the fields of each contact of a bulk call and of an import, once for each', async () => {
    const [first, second] = [await buildContact(workspace), await buildContact(workspace)]
    const items = [
      { phone: first.phone, name: 'First', fields: { plan: 'gold' }, tags: ['a'], consent: { marketing: 'opted_in' } },
      { phone: second.phone, name: second.name, tags: ['b'] },
    ]
    const bulk = () => workspace.call('POST', '/api/contacts/bulk', { items })
    expect(await listData('contact.updated', bulk)).to.have.deep.members([
      { contactId: first.id, changed: ['consent'] },
      { contactId: first.id, changed: ['name', 'fields', 'tags'] },
      { contactId: second.id, changed: ['tags'] },
    ])
    expect(await listData('contact.updated', bulk)).to.deep.equal([])
    const csv = `phone,name,fields.plan\n${first.phone},First,silver\n${second.phone},${second.name},\n`
    expect(await listData('contact.updated', () => importCsv(workspace, csv))).to.deep.equal([
      { contactId: first.id, changed: ['fields'] },
    ])
  })

  it('names what a step of a workflow changes, and a step that changes nothing has no event', async () => {
    await buildWorkflow(workspace, {
      triggers: [{ type: 'message_received', match: { mode: 'exact', values: ['rename'] } }],
      steps: [{ id: 'set', type: 'update_contact', values: { name: 'By step', fields: { seen: true } } }],
    })
    const { contactId } = await sendAsCustomer(workspace, { body: 'hi' })
    const rename = () => sendAsCustomer(workspace, { contactId, body: 'rename' })
    expect(await listData('contact.updated', rename)).to.deep.equal([{ contactId, changed: ['name', 'fields'] }])
    expect(await listData('contact.updated', rename)).to.deep.equal([])
  })

  it('names secret and previousExpiresAt for a rotation, and role for a member with another one', async () => {
    const rotate = () => workspace.call('POST', `/api/webhook-endpoints/${ids.webhookEndpoint}/rotate-secret`, {})
    expect(await listData('webhook_endpoint.updated', rotate)).to.deep.equal([
      { webhookEndpointId: ids.webhookEndpoint, changed: ['secret', 'previousExpiresAt'] },
    ])
    const { userId } = await buildMember(workspace, 'agent')
    const promote = () => workspace.call('PATCH', `/api/members/${userId}`, { role: 'admin' })
    expect(await listData('member.updated', promote)).to.deep.equal([{ userId, changed: ['role'] }])
    expect(await listData('member.updated', promote)).to.deep.equal([])
  })

  it('conversation.updated names what a longer snooze changes, and a first one has an event of its own', async () => {
    const path = CONVERSATION.path(ids)
    const snooze = (hours: number) => () =>
      workspace.call('PATCH', path, {
        status: 'snoozed',
        snoozedUntil: new Date(app.clock.now().getTime() + hours * HOUR).toISOString(),
      })
    expect(await listData('conversation.updated', snooze(1))).to.deep.equal([])
    const events = await listData('conversation.updated', snooze(2))
    expect(events.map((data: { changed: string[] }) => data.changed)).to.deep.equal([['snoozedUntil']])
  })

  it('has the names in the body of a webhook', async () => {
    const receiver = await ScriptedServer.start()
    try {
      receiver.replyWith(json({}))
      const fields = { url: `${receiver.url}/events`, types: ['contact.updated'] }
      const { secret } = await workspace.call('POST', '/api/webhook-endpoints', fields)
      await workspace.call('PATCH', CONTACT.path(ids), { language: 'pt' })
      await app.work()
      const [event] = readEvents(receiver, secret)
      expect(event?.data).to.deep.equal({ contactId: ids.contact, changed: ['language'] })
      expect(event?.resource).to.include({ id: ids.contact, language: 'pt' })
    } finally {
      await receiver.stop()
    }
  })
})
