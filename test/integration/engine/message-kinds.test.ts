import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('send_message step', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    await buildCloudApiChannel(workspace, cloud)
  })

  afterEach(() => cloud.stop())

  after(() => app.stop())

  /** Publishes a workflow that sends the messages, triggers it by a message of a customer, and returns its run. */
  async function run(messages: object[], body = 'hola') {
    const steps = messages.map((message, index) => ({ id: `m${index}`, type: 'send_message', message }))
    await buildWorkflow(workspace, { steps })
    await cloud.webhooks.sendText({ from: newPhone().slice(1), body })
    await app.work()
    const { items } = await workspace.call('GET', '/api/runs')
    return workspace.call('GET', `/api/runs/${items[0].id}`)
  }

  it('sends every kind of content that the Cloud API accepts, with placeholders filled in', async () => {
    const { status } = await run(
      [
        { sticker: { url: 'https://a.example/{{message.body}}.webp' } },
        { location: { latitude: '{{message.body}}', longitude: 13.4, name: 'Shop', address: '{{input.missing}}' } },
        { contacts: [{ name: 'Shop {{message.body}}', phones: [{ phone: '+491701234567' }] }] },
        { reaction: { messageId: '{{message.id}}', emoji: '👍' } },
        { body: 'Noted', replyToId: '{{message.id}}' },
        { body: '?', buttons: [...'abcd'].map((id) => ({ id, title: `{{message.body}} ${id}` })) },
        { body: '?', list: { button: 'Open', options: [{ id: 'n{{message.body}}', title: 'A', description: 'B' }] } },
        { body: 'Pay', link: { title: 'Pay', url: 'https://a.example/{{message.body}}' } },
      ],
      '52',
    )
    expect(status).to.equal('completed')
    const [sticker, location, contacts, reaction, reply, options, list, link] = cloud.accepted.map(
      ({ payload }) => payload,
    )
    expect(sticker).to.deep.include({ sticker: { link: 'https://a.example/52.webp' } })
    expect(location).to.deep.include({ location: { latitude: 52, longitude: 13.4, name: 'Shop' } })
    expect(contacts).to.have.nested.property('contacts[0].name.formatted_name', 'Shop 52')
    expect(reaction).to.have.nested.property('reaction.emoji', '👍')
    expect(reply).to.have.nested.property('context.message_id').that.is.a('string')
    expect(options).to.have.nested.property('interactive.action.sections[0].rows[3].title', '52 d')
    expect(list).to.have.nested.property('interactive.action.sections[0].rows[0].id', 'n52')
    expect(link).to.have.nested.property('interactive.action.parameters.url', 'https://a.example/52')
  })

  it('ignores a reply to a message of another conversation, and fails a reaction to one', async () => {
    await cloud.webhooks.sendText({ from: newPhone().slice(1), body: 'other' })
    // The workflow that is published next must not start for it.
    await app.work()
    const others = await workspace.call('GET', '/api/conversations')
    await run(
      [
        { body: 'Hi', replyToId: '{{message.body}}' },
        { body: 'Hello', replyToId: 'not an ID' },
        { reaction: { messageId: '{{message.body}}', emoji: '👍' } },
      ],
      others.items[0].lastMessage.id,
    )
    expect(cloud.accepted.map(({ payload }) => payload['context'])).to.deep.equal([undefined, undefined])
    const { items } = await workspace.call('GET', '/api/conversations?limit=1')
    const { messages } = await workspace.call('GET', `/api/conversations/${items[0].id}/messages`)
    expect(messages.at(-1)).to.include({ type: 'reaction', status: 'failed' })
    expect(messages.at(-1).error).to.include({ code: 'replied_message_not_sent' })
  })

  const limits: [field: string, message: object, code: string, text: string][] = [
    [
      'a label of a list',
      { body: '?', list: { button: '{{message.body}}', options: [{ id: 'a', title: 'A' }] } },
      'invalid_content',
      'message.list.button must have at most 20 characters',
    ],
    [
      'a coordinate',
      { location: { latitude: '{{message.body}}', longitude: 0 } },
      'invalid_content',
      'message.location.latitude must be a number from -90 to 90',
    ],
    [
      'a link',
      { body: 'Pay', link: { title: 'Pay', url: '{{message.body}}' } },
      'invalid_content',
      'message.link.url must be an http or https address without a user name or password',
    ],
  ]
  for (const [field, message, code, text] of limits) {
    it(`fails with ${code} when ${field} exceeds the limits of channels once it is filled in`, async () => {
      const { status, error } = await run([message], 'a text of more than 20 characters')
      expect(status).to.equal('failed')
      expect(error).to.deep.include({ code, message: text })
    })
  }
})
