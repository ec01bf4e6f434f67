import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import type { InboundMessage } from '../../../src/channels/channel.ts'
import { receiveMessages } from '../../../src/features/inbound/receive-messages.ts'
import { settleMessages } from '../../../src/features/outbound/settle-messages.ts'
import { claimMessages } from '../../../src/features/outbound/claim-messages.ts'
import { loadChannel } from '../../../src/features/channels/load-channel.ts'
import { buildCloudApiChannel, buildContact, buildWorkspace, newPhone } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('spellings of a phone number on a channel', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channel: ApiResponse['body']

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' })
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    channel = await buildCloudApiChannel(workspace, cloud)
  })

  afterEach(() => cloud.stop())
  after(() => app.stop())

  const listContacts = async (): Promise<ApiResponse['body'][]> =>
    (await workspace.call('GET', '/api/contacts?limit=100')).items

  async function findConversation(contactId: string): Promise<string> {
    const { items } = await workspace.call('GET', `/api/conversations?contactId=${contactId}`)
    return items[0].id
  }

  it('a message from another spelling reaches the contact that the API created', async () => {
    const pairs = [
      ['+5511987654321', '551187654321'],
      ['+525512345678', '5215512345678'],
      ['+541123456789', '5491123456789'],
    ] as const
    for (const [phone, from] of pairs) {
      const { id } = await buildContact(workspace, { phone })
      await cloud.webhooks.sendText({ from, body: 'hi' })
      const { lastInboundAt } = await workspace.call('GET', `/api/contacts/${id}`)
      expect(lastInboundAt, phone).to.not.equal(null)
    }
    expect(await listContacts()).to.have.length(3)
  })

  it('an ID of a user is of another person on another channel, whose business has its own IDs', async () => {
    const other = await FakeCloudApi.start({ clock: app.clock })
    try {
      await buildCloudApiChannel(workspace, other)
      await cloud.webhooks.sendText({ userId: 'US.4711', from: '15550104001', body: 'one' })
      await other.webhooks.sendText({ userId: 'US.4711', from: '15550104002', body: 'two' })
      const phones = (await listContacts()).map(({ phone }) => phone)
      expect(phones).to.have.members(['+15550104001', '+15550104002'])
    } finally {
      await other.stop()
    }
  })

  it('two spellings in one batch are one contact and one conversation', async () => {
    await Promise.all([
      cloud.webhooks.sendText({ from: '551187654321', body: 'one' }),
      cloud.webhooks.sendText({ from: '551187654321', body: 'two' }),
      cloud.webhooks.sendText({ from: '5511987654321', body: 'three' }),
    ])
    const [contact, ...others] = await listContacts()
    expect(others).to.deep.equal([])
    expect((await workspace.call('GET', '/api/conversations')).total).to.equal(1)
    expect(contact).to.include({ country: 'BR' })
  })

  it('an echo to another spelling is stored in the conversation of the contact', async () => {
    await cloud.webhooks.sendText({ from: '551187654321', body: 'hi' })
    await cloud.webhooks.sendEcho({ to: '5511987654321', body: 'From the phone' })
    expect(await listContacts()).to.have.length(1)
    expect((await workspace.call('GET', '/api/conversations')).total).to.equal(1)
  })

  it('one person with and without a phone number in one batch is one contact', async () => {
    const phone = newPhone()
    const toMessage = (name: string, sender: { phone: string | null }): InboundMessage => ({
      providerMessageId: `${phone}.${name}`,
      from: { userId: 'US.42', profileName: 'Ana', username: null, ...sender },
      type: 'text',
      body: name,
      content: null,
      at: app.clock.now(),
    })
    await receiveMessages(app.system.forTenant(workspace.tenantId), {
      channelId: channel.id,
      messages: [toMessage('one', { phone: null }), toMessage('two', { phone }), toMessage('three', { phone: null })],
    })
    const contacts = await listContacts()
    expect(contacts.map((contact) => [contact.phone, contact.name])).to.deep.equal([[phone, 'Ana']])
    const events = await app.system.db('events').where({ tenant_id: workspace.tenantId, type: 'contact.created' })
    expect(events).to.have.length(1)
  })

  it('the address that the provider returns is used for the next message', async () => {
    const { id } = await buildContact(workspace, { phone: '+5511987654321' })
    await cloud.webhooks.sendText({ from: '15550001111', body: 'hi' })
    await cloud.webhooks.sendText({ from: '551187654321', body: 'hi' })
    await app.system.db('contact_identities').where({ tenant_id: workspace.tenantId, contact_id: id }).delete()
    const conversationId = await findConversation(id)
    const scope = app.system.forTenant(workspace.tenantId)
    const loaded = await loadChannel(scope, channel.id)
    const send = async (body: string) => {
      await workspace.call('POST', `/api/conversations/${conversationId}/messages`, { body })
      const claimed = await scope.transaction((tx) => claimMessages(tx, { channelId: channel.id, limit: 10 }))
      const [message = expect.fail('nothing was claimed')] = claimed
      const recipientAddress = '+551187654321'
      const result = { kind: 'accepted' as const, providerMessageId: `wamid.${body}`, recipientAddress }
      await scope.transaction((tx) => settleMessages(tx, loaded, [{ message, result }]))
      return message.to.phone
    }
    expect(await send('first')).to.equal('+5511987654321')
    expect(await send('second')).to.equal('+551187654321')
  })
})
