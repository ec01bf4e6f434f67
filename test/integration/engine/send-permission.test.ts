import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { releaseScheduledMessages } from '../../../src/features/messages/scheduled-messages.ts'
import { HOUR, MINUTE } from '../../../src/platform/time.ts'
import { buildContact, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel, waitForStatus } from '../../support/broadcasts.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Target = { contactId: string; phone: string; conversationId: string }

/**
 * Sends something to a contact; `withdraw` takes its consent away at the latest time at which that must still count: while
 * no attempt to send is in progress.
 */
type Sender = (target: Target, withdraw: () => Promise<unknown>) => Promise<unknown>

describe('permission to send', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let cloud: FakeCloudApi
  let channelId: string
  let templateId: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  beforeEach(async () => {
    owner = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    ;({ channelId, templateId } = await buildBroadcastChannel(owner, cloud))
  })

  afterEach(() => cloud.stop())
  after(() => app.stop())

  const template = () => ({ template: { templateId, params: { name: 'Ana' } } })
  const choice = () => ({ template: { templateId } })
  const post = (path: string, body: object = {}) => owner.request('POST', path, body)

  /** Starts a workflow whose only steps are these by an event, so that it needs no message of the customer. */
  async function runSteps({ contactId }: Target, steps: object[], withdraw: () => Promise<unknown>): Promise<void> {
    const event = `test.${contactId.replaceAll('-', '_')}`
    await buildWorkflow(owner, { triggers: [{ type: 'event', event }], steps })
    await post('/api/events', { event, contactId })
    await app.work()
    await withdraw()
    await app.work()
  }

  async function closeWindow({ conversationId: id }: Target): Promise<void> {
    await app.system.db('conversations').where({ id }).update({ window_expires_at: app.clock.now() })
  }

  async function sendBroadcast(audience: object, withdraw: () => Promise<unknown>): Promise<void> {
    const draft = { name: 'Sale', templateId, params: { name: 'Ana' }, audience }
    const { id } = await owner.call('POST', '/api/broadcasts', draft)
    await owner.call('POST', `/api/broadcasts/${id}/send`, {})
    await app.work()
    await withdraw()
    await waitForStatus(app, owner, id, 'completed')
  }

  /** Senders of marketing. */
  const MARKETING: Record<string, Sender> = {
    'a message in a conversation': async ({ conversationId }, withdraw) => {
      await post(`/api/conversations/${conversationId}/messages`, template())
      await app.work()
      await withdraw()
    },
    'a message to a phone number': async ({ phone }, withdraw) => {
      await post('/api/messages', { to: { phone }, channelId, ...template() })
      await app.work()
      await withdraw()
    },
    'a message to a contact': async ({ contactId }, withdraw) => {
      await post('/api/messages', { to: { contactId }, channelId, ...template() })
      await app.work()
      await withdraw()
    },
    'a scheduled message': async ({ contactId }, withdraw) => {
      const sendAt = new Date(app.clock.now().getTime() + HOUR).toISOString()
      await post('/api/messages', { to: { contactId }, channelId, sendAt, ...template() })
      await withdraw()
      app.clock.advance(2 * HOUR)
      await releaseScheduledMessages(app.system)
    },
    'a broadcast to contacts': ({ contactId }, withdraw) => sendBroadcast({ contactIds: [contactId] }, withdraw),
    'a broadcast to phone numbers': ({ phone }, withdraw) => sendBroadcast({ recipients: [{ phone }] }, withdraw),
    'a send_template step': (target, withdraw) =>
      runSteps(target, [{ id: 'template', type: 'send_template', ...choice(), params: { name: 'Ana' } }], withdraw),
    'a send_message step with a template': async (target, withdraw) => {
      await closeWindow(target)
      const ifWindowClosed = { ...choice(), params: { name: 'Ana' } }
      await runSteps(target, [say('hello', 'Hello', { ifWindowClosed })], withdraw)
    },
    'the test of a broadcast': async ({ contactId, phone }, withdraw) => {
      const draft = await owner.call('POST', '/api/broadcasts', { name: 'S', templateId, params: { name: 'Ana' } })
      await post(`/api/broadcasts/${draft.id}/test`, { contactIds: [contactId] })
      await post(`/api/broadcasts/${draft.id}/test`, { phones: [phone] })
      await app.work()
      await withdraw()
    },
  }

  /** Senders of free-form messages of workflows. */
  const AUTOMATED: Record<string, Sender> = {
    'a send_message step': (target, withdraw) => runSteps(target, [say('hello')], withdraw),
    'the tool message.send': (target, withdraw) => {
      const input = { conversationId: target.conversationId, body: 'Hello' }
      return runSteps(target, [{ id: 'use', type: 'tool', tool: 'message.send', input }], withdraw)
    },
  }

  const WITHDRAWALS: Record<string, (contactId: string) => Promise<ApiResponse['body']>> = {
    blocked: (contactId) => owner.call('PATCH', `/api/contacts/${contactId}`, { blocked: true }),
    'opted out of marketing': (contactId) =>
      owner.call('POST', `/api/contacts/${contactId}/consent`, { purpose: 'marketing', state: 'opted_out' }),
    'opted out of service': (contactId) =>
      owner.call('POST', `/api/contacts/${contactId}/consent`, { purpose: 'service', state: 'opted_out' }),
  }

  /** Creates a contact who has just written, so that its service window is open. */
  async function buildTarget(): Promise<Target> {
    const { id: contactId, phone } = await buildContact(owner)
    expect((await cloud.webhooks.sendText({ from: phone.slice(1), body: 'hi' })).status).to.equal(200)
    await app.work()
    const { items } = await owner.call('GET', `/api/conversations?contactId=${contactId}`)
    return { contactId, phone, conversationId: items[0].id }
  }

  /** Returns the number of messages that the provider accepted for a contact who withdraws its consent. */
  async function countAccepted(
    send: Sender,
    withdraw: (contactId: string) => Promise<unknown>,
    when: 'before' | 'after acceptance',
  ): Promise<number> {
    const target = await buildTarget()
    if (when === 'before') {
      await withdraw(target.contactId)
      await send(target, async () => {})
    } else {
      // The first attempts to send fail temporarily, so that the consent is withdrawn before the message is sent.
      cloud.rejectRecipient(target.phone, 131000)
      await send(target, async () => {
        await withdraw(target.contactId)
        cloud.clearFaults()
        app.clock.advance(MINUTE)
      })
    }
    await app.work()
    return cloud.accepted.filter(({ recipient }) => recipient === target.phone).length
  }

  for (const [name, send] of Object.entries(MARKETING)) {
    it(`${name} reaches a contact who consents, and none who is blocked or opted out, before or after it is accepted`, async () => {
      expect(await countAccepted(send, async () => {}, 'before'), 'consenting').to.be.greaterThan(0)
      for (const [state, withdraw] of Object.entries(WITHDRAWALS)) {
        for (const when of ['before', 'after acceptance'] as const) {
          expect(await countAccepted(send, withdraw, when), `${state} ${when}`).to.equal(0)
        }
      }
    })
  }

  for (const [name, send] of Object.entries(AUTOMATED)) {
    it(`${name} reaches a contact who opted out of marketing, and none who is blocked or opted out of service`, async () => {
      const { blocked, 'opted out of marketing': marketing, 'opted out of service': service } = WITHDRAWALS
      for (const when of ['before', 'after acceptance'] as const) {
        if (marketing) expect(await countAccepted(send, marketing, when), `marketing ${when}`).to.equal(1)
        if (blocked) expect(await countAccepted(send, blocked, when), `blocked ${when}`).to.equal(0)
        if (service) expect(await countAccepted(send, service, when), `service ${when}`).to.equal(0)
      }
    })
  }

  it('a member replies by hand to a contact who opted out of service, but sends it no template', async () => {
    const target = await buildTarget()
    await WITHDRAWALS['opted out of service']?.(target.contactId)
    const path = `/api/conversations/${target.conversationId}/messages`
    expect((await post(path, { body: 'Hello' })).status).to.equal(201)
    const { status, body } = await post(path, template())
    expect([status, body.code, body.details]).to.deep.equal([422, 'contact_opted_out', { purpose: 'service' }])
    await app.work()
    expect(cloud.accepted.map(({ body: text }) => text)).to.deep.equal(['Hello'])
  })

  it('a message that consent rules out is refused with what to do instead, and creates no conversation', async () => {
    const { id: contactId } = await buildContact(owner, { consent: { marketing: 'opted_out' } })
    const { status, body } = await post('/api/messages', { to: { contactId }, channelId, ...template() })
    expect([status, body.code, body.details]).to.deep.equal([422, 'contact_opted_out', { purpose: 'marketing' }])
    expect(body.error).to.match(/utility/)
    expect((await owner.call('GET', '/api/conversations')).total).to.equal(0)
  })
})
