import { expect } from 'chai'
import { MINUTE } from '../../../src/platform/time.ts'
import {
  buildCloudApiChannel,
  buildContact,
  buildTemplate,
  buildWorkflow,
  buildWorkspace,
  newPhone,
} from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { newWamid } from '../../../fake-whatsapp/webhooks.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ANSWER = { steps: [{ id: 'answer', type: 'send_message', message: { body: 'Hello' } }] }

describe('webhook of a channel', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channel: ApiResponse['body']

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    cloud.statuses = []
    channel = await buildCloudApiChannel(workspace, cloud)
  })

  afterEach(() => cloud.stop())

  const seconds = () => String(Math.floor(app.clock.now().getTime() / 1000))
  const digits = (phone: string) => phone.slice(1)

  async function report(field: string, value: object): Promise<void> {
    expect(await cloud.webhooks.post(cloud.webhooks.accountEnvelope(field, value))).to.equal(200)
  }

  const getChannel = () => workspace.call('GET', `/api/channels/${channel.id}`)
  const getContact = (id: string) => workspace.call('GET', `/api/contacts/${id}`)

  async function findContact(phone: string): Promise<ApiResponse['body']> {
    const { items } = await workspace.call('GET', '/api/contacts?limit=100')
    return items.find((contact: { phone: string | null }) => contact.phone === phone)
  }

  async function readConversation(contactId: string): Promise<ApiResponse['body']> {
    const { items } = await workspace.call('GET', `/api/conversations?contactId=${contactId}`)
    const { messages } = await workspace.call('GET', `/api/conversations/${items[0].id}/messages`)
    return { ...items[0], messages }
  }

  async function listEventTypes(): Promise<string[]> {
    const rows = await app.system.db('events').where('tenant_id', workspace.tenantId).orderBy('id').select('type')
    return rows.map(({ type }: { type: string }) => type)
  }

  describe('that changes a template', () => {
    it('sets the status of the template that it names', async () => {
      const { id } = await buildTemplate(workspace, { channelId: channel.id, name: 'sale', language: 'en' })
      const template = { message_template_id: 1, message_template_name: 'sale', message_template_language: 'en' }
      await report('message_template_status_update', { event: 'APPROVED', reason: 'NONE', ...template })
      expect((await workspace.call('GET', `/api/templates/${id}`)).status).to.equal('approved')
      await report('message_template_status_update', { event: 'PAUSED', reason: 'NONE', ...template })
      expect((await workspace.call('GET', `/api/templates/${id}`)).status).to.equal('paused')
    })
  })

  describe('that reports a preference', () => {
    it('stores that a contact stopped marketing messages', async () => {
      await cloud.webhooks.sendText({ from: '15550006001', body: 'hi' })
      const preference = { wa_id: '15550006001', category: 'marketing_messages', timestamp: Number(seconds()) }
      const post = (value: string) =>
        cloud.webhooks.post(
          cloud.webhooks.envelope({ user_preferences: [{ ...preference, value, detail: 'x' }] }, 'user_preferences'),
        )
      expect(await post('stop')).to.equal(200)
      expect((await findContact('+15550006001')).consent.marketing).to.equal('opted_out')
      expect(await post('resume')).to.equal(200)
      expect((await findContact('+15550006001')).consent.marketing).to.equal('opted_in')
    })

    it('stores the choice of a person who has not written yet', async () => {
      const preference = { wa_id: '15550006002', category: 'marketing_messages', value: 'stop', timestamp: seconds() }
      await cloud.webhooks.post(cloud.webhooks.envelope({ user_preferences: [preference] }, 'user_preferences'))
      expect((await findContact('+15550006002')).consent.marketing).to.equal('opted_out')
    })
  })

  describe('that changes the channel', () => {
    it('shows the quality and the messaging limit of its own number only', async () => {
      await workspace.call('PATCH', `/api/channels/${channel.id}`, { phoneNumber: '+15550783881' })
      const update = { display_phone_number: '15550783881', event: 'FLAGGED', current_limit: 'TIER_2K' }
      await report('phone_number_quality_update', update)
      await report('phone_number_quality_update', {
        ...update,
        display_phone_number: '19995550001',
        current_limit: 'TIER_50',
      })
      await report('phone_number_quality_update', {
        ...update,
        display_phone_number: '19995550000',
        event: 'UNFLAGGED',
      })
      await report('phone_number_quality_update', { ...update, event: 'THROUGHPUT_UPGRADE' })
      const shown = await getChannel()
      expect(shown).to.deep.include({ quality: 'red', messagingLimit: '2000', throughput: 1000, status: 'connected' })
      expect(shown.lastAlert).to.include({ code: 'quality_flagged', severity: 'warning' })
      expect(await listEventTypes()).to.include.members(['channel.quality_changed', 'channel.alerted'])
    })

    it('degrades the channel while the account is disabled, and sends again when it is reinstated', async () => {
      await report('account_update', { event: 'DISABLED_UPDATE', ban_info: { waba_ban_state: 'DISABLE' } })
      expect(await getChannel()).to.include({ status: 'degraded' })
      expect((await getChannel()).statusReason).to.match(/DISABLED_UPDATE, DISABLE/)
      await report('account_update', { event: 'DISABLED_UPDATE', ban_info: { waba_ban_state: 'REINSTATE' } })
      expect(await getChannel()).to.deep.include({ status: 'connected', statusReason: null })
    })

    it('shows alerts and errors that concern no single message', async () => {
      const alert = { alert_severity: 'CRITICAL', alert_type: 'LIMIT_DENIED', alert_description: 'No increase' }
      await report('account_alerts', { entity_type: 'WABA', entity_id: '1', alert_info: alert })
      expect((await getChannel()).lastAlert).to.include({ code: 'limit_denied', message: 'No increase' })
      const errors = [{ code: 130429, title: 'Rate limit', error_data: { details: 'Throughput was reached' } }]
      await cloud.webhooks.post(cloud.webhooks.envelope({ errors }))
      expect((await getChannel()).lastAlert).to.include({ code: 'rate_limited', severity: 'warning' })
    })
  })

  describe('that echoes a message of the app on the phone', () => {
    const echo = (to: string, body: string, id = newWamid()) =>
      cloud.webhooks.post(
        cloud.webhooks.envelope(
          {
            message_echoes: [{ from: '15550783881', to, id, timestamp: seconds(), type: 'text', text: { body } }],
          },
          'smb_message_echoes',
        ),
      )

    it('stores it once as a sent message and pauses automation', async () => {
      await cloud.webhooks.sendText({ from: '15550007001', body: 'hi' })
      const { id } = await findContact('+15550007001')
      const wamid = newWamid()
      expect(await echo('15550007001', 'I take over', wamid)).to.equal(200)
      expect(await echo('15550007001', 'I take over', wamid)).to.equal(200)
      const { messages, automation, lastMessage } = await readConversation(id)
      expect(messages.map(({ body }: { body: string }) => body)).to.deep.equal(['hi', 'I take over'])
      expect(messages[1]).to.deep.include({
        direction: 'outbound',
        status: 'sent',
        sender: { type: 'device', id: null, name: null },
        providerMessageId: wamid,
      })
      expect(automation).to.include({ state: 'paused', reason: 'human_reply' })
      expect(lastMessage.body).to.equal('I take over')
    })

    it('applies later delivery statuses to it', async () => {
      const wamid = newWamid()
      await echo('15550007002', 'Good morning', wamid)
      expect(await cloud.webhooks.sendStatuses([{ wamid, status: 'read' }])).to.equal(200)
      const { messages } = await readConversation((await findContact('+15550007002')).id)
      expect(messages[0].status).to.equal('read')
    })

    it('ignores the echo of a message that the application sent', async () => {
      await buildWorkflow(workspace, ANSWER)
      await cloud.webhooks.sendText({ from: '15550007003', body: 'hi' })
      await cloud.whenAccepted(1)
      const { id } = await findContact('+15550007003')
      const [sent] = cloud.accepted
      expect(await echo('15550007003', 'Hello', sent?.wamid)).to.equal(200)
      const { messages, automation } = await readConversation(id)
      expect(messages).to.have.length(2)
      expect(automation.state).to.equal('on')
    })

    it('ignores the echo of a message whose provider ID is not stored yet', async () => {
      await buildWorkflow(workspace, ANSWER)
      await cloud.webhooks.sendText({ from: '15550007004', body: 'hi' })
      cloud.beforeResponse = ({ wamid }) => echo('15550007004', 'Hello', wamid)
      await cloud.whenAccepted(1)
      const { messages } = await readConversation((await findContact('+15550007004')).id)
      expect(messages.map(({ sender }: ApiResponse['body']) => sender.type)).to.deep.equal(['contact', 'workflow'])
    })

    it('takes one with the text of a message in doubt as the report that it was sent, and stores what follows', async () => {
      await buildWorkflow(workspace, ANSWER)
      cloud.dropNextResponse('reset')
      await cloud.webhooks.sendText({ from: '15550007005', body: 'hi' })
      const { id } = await findContact('+15550007005')
      const readSent = async () =>
        (await readConversation(id)).messages.flatMap(({ direction, sender, status }: ApiResponse['body']) =>
          direction === 'outbound' ? [`${sender.type} ${status}`] : [],
        )
      await waitUntil(async () => (await readSent()).includes('workflow failed'))
      const [sent] = cloud.accepted
      for (const _repetition of [1, 2]) expect(await echo('15550007005', 'Hello', sent?.wamid)).to.equal(200)
      expect(await readSent()).to.deep.equal(['workflow sent'])
      expect((await readConversation(id)).automation.state).to.equal('on')
      await echo('15550007005', 'Hello')
      expect(await readSent()).to.deep.equal(['workflow sent', 'device sent'])
      expect((await readConversation(id)).automation.state).to.equal('paused')
    })

    it('stores one that a member writes long after a message with that text whose delivery stayed unknown', async () => {
      await buildWorkflow(workspace, ANSWER)
      cloud.dropNextResponse('reset')
      await cloud.webhooks.sendText({ from: '15550007006', body: 'hi' })
      const { id } = await findContact('+15550007006')
      const readStatuses = async () =>
        (await readConversation(id)).messages.map(({ status }: ApiResponse['body']) => status)
      await waitUntil(async () => (await readStatuses()).includes('failed'))
      app.clock.advance(10 * MINUTE)
      await echo('15550007006', 'Hello')
      expect(await readStatuses()).to.deep.equal(['received', 'failed', 'sent'])
    })
  })

  describe('that reports a new number of a person', () => {
    const changeNumber = (from: string, to: string) =>
      cloud.webhooks.sendMessage({
        from: digits(from),
        message: { type: 'system', system: { type: 'user_changed_number', body: 'changed', wa_id: digits(to) } },
      })

    it('moves the contact, so that its next message continues the conversation', async () => {
      const [oldPhone, phone] = [newPhone(), newPhone()]
      await cloud.webhooks.sendText({ from: digits(oldPhone), body: 'hi' })
      const contact = await findContact(oldPhone)
      expect((await changeNumber(oldPhone, phone)).status).to.equal(200)
      expect((await changeNumber(oldPhone, phone)).status).to.equal(200)
      expect((await getContact(contact.id)).phone).to.equal(phone)
      await cloud.webhooks.sendText({ from: digits(phone), body: 'it is me' })
      const { messages } = await readConversation(contact.id)
      expect(messages.map(({ body }: { body: string }) => body)).to.deep.equal(['hi', 'it is me'])
    })

    it('moves the contact to the new number in all of its spellings, and frees the old one', async () => {
      await cloud.webhooks.sendText({ from: '551187650001', body: 'hi' })
      const { id } = await findContact('+551187650001')
      await cloud.webhooks.sendText({ from: '5511987650001', body: 'hi again' })
      await changeNumber('+5511987650001', '+5511987650002')
      const taken = await workspace.request('POST', '/api/contacts', { name: 'N', phone: '+551187650002' })
      expect([taken.status, taken.body.details.contactId]).to.deep.equal([409, id])
      expect((await buildContact(workspace, { phone: '+551187650001' })).id).to.not.equal(id)
      await workspace.call('POST', '/api/messages', { to: { contactId: id }, channelId: channel.id, body: 'hello' })
      await cloud.whenAccepted(1)
      expect(cloud.accepted.map(({ recipient }) => recipient)).to.deep.equal(['+5511987650002'])
    })

    it('takes the old number from the contact when another contact has the new one', async () => {
      const [oldPhone, phone] = [newPhone(), newPhone()]
      await cloud.webhooks.sendText({ from: digits(oldPhone), body: 'hi' })
      const contact = await findContact(oldPhone)
      const other = await buildContact(workspace, { phone })
      expect((await changeNumber(oldPhone, phone)).status).to.equal(200)
      expect((await getContact(contact.id)).phone).to.equal(null)
      expect((await getContact(other.id)).phone).to.equal(phone)
      expect(await listEventTypes()).to.include('contact.number_conflict')
    })

    it('opts the contact with the new number out of what the person had opted out of', async () => {
      const [oldPhone, phone] = [newPhone(), newPhone()]
      await cloud.webhooks.sendText({ from: digits(oldPhone), body: 'STOP' })
      const contact = await findContact(oldPhone)
      const other = await buildContact(workspace, { phone, consent: { marketing: 'opted_in' } })
      await changeNumber(oldPhone, phone)
      const consent = await workspace.call('GET', `/api/contacts/${other.id}/consent`)
      expect([consent.marketing, consent.service]).to.deep.equal(['opted_out', 'unknown'])
      expect(consent.items[0]).to.deep.include({ source: 'provider', channelId: channel.id })
      expect(consent.items[0].actor).to.include({ type: 'contact', id: contact.id })
      await changeNumber(oldPhone, phone)
      expect((await workspace.call('GET', `/api/contacts/${other.id}/consent`)).total).to.equal(2)
    })

    it('blocks the contact with the new number if the person was blocked', async () => {
      const [oldPhone, phone] = [newPhone(), newPhone()]
      await cloud.webhooks.sendText({ from: digits(oldPhone), body: 'hi' })
      const { id } = await findContact(oldPhone)
      await workspace.call('PATCH', `/api/contacts/${id}`, { blocked: true })
      const other = await buildContact(workspace, { phone })
      await changeNumber(oldPhone, phone)
      expect((await getContact(other.id)).blocked).to.equal(true)
    })

    it('does not move a later owner of the old number when the report is repeated', async () => {
      const [oldPhone, phone] = [newPhone(), newPhone()]
      await cloud.webhooks.sendText({ from: digits(oldPhone), body: 'hi' })
      const at = seconds()
      const notice = { type: 'system', timestamp: at, system: { type: 'user_changed_number', wa_id: digits(phone) } }
      await cloud.webhooks.sendMessage({ from: digits(oldPhone), message: notice })
      app.clock.advance(60_000)
      await cloud.webhooks.sendText({ from: digits(oldPhone), body: 'I am new here' })
      await cloud.webhooks.sendMessage({ from: digits(oldPhone), message: notice })
      expect(await findContact(oldPhone)).to.not.equal(undefined)
      expect(await findContact(phone)).to.not.equal(undefined)
    })
  })

  describe('of a contact whose number a member changes', () => {
    it('sends to the new number, and knows the former one as that of somebody else', async () => {
      await cloud.webhooks.sendText({ from: '15550002001', body: 'hi', userId: 'US.2001' })
      const { items } = await workspace.call('GET', '/api/contacts?phone=%2B15550002001')
      const { id } = items[0]
      await workspace.call('PATCH', `/api/contacts/${id}`, { phone: '+15550002002' })
      await workspace.call('POST', '/api/messages', { to: { contactId: id }, channelId: channel.id, body: 'hello' })
      await cloud.whenAccepted(1)
      expect(cloud.accepted.map(({ recipient }) => recipient)).to.deep.equal(['+15550002002'])
      await cloud.webhooks.sendText({ from: '15550002001', body: 'who is this?' })
      const [other] = (await workspace.call('GET', '/api/contacts?phone=%2B15550002001')).items
      expect(other.id).to.not.equal(id)
    })

    it('sends to the address that it knows if the new number is another spelling of it', async () => {
      await cloud.webhooks.sendText({ from: '551187654321', body: 'hi' })
      const [{ id }] = (await workspace.call('GET', '/api/contacts?phone=%2B551187654321')).items
      await workspace.call('PATCH', `/api/contacts/${id}`, { phone: '+5511987654321' })
      await workspace.call('POST', '/api/messages', { to: { contactId: id }, channelId: channel.id, body: 'hello' })
      await cloud.whenAccepted(1)
      expect(cloud.accepted.map(({ recipient }) => recipient)).to.deep.equal(['+551187654321'])
    })
  })
})
