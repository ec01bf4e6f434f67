import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const FROM = '15550006102'

describe('answers to a WhatsApp Flow', () => {
  let app: TestApp
  let cloud: FakeCloudApi
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  beforeEach(async () => {
    cloud = await FakeCloudApi.start({ clock: app.clock })
    workspace = await buildWorkspace(app)
    await buildCloudApiChannel(workspace, cloud)
  })

  afterEach(() => cloud.stop())
  after(() => app.stop())

  async function submit(response: string): Promise<void> {
    const interactive = { type: 'nfm_reply', nfm_reply: { name: 'flow', body: 'Sent', response_json: response } }
    const { status } = await cloud.webhooks.sendMessage({ from: FROM, message: { type: 'interactive', interactive } })
    expect(status).to.equal(200)
    await app.work()
  }

  async function readContent() {
    const [conversation] = (await workspace.call('GET', '/api/conversations')).items
    const { messages } = await workspace.call('GET', `/api/conversations/${conversation.id}/messages`)
    return messages[0].content
  }

  it('are read by triggers, conditions and templates of workflows', async () => {
    const answer = '{{message.content.answers.people}}'
    await buildWorkflow(workspace, {
      triggers: [
        { type: 'message_received', if: { left: '{{message.content.answers.topic}}', op: 'eq', right: 'table' } },
      ],
      settings: { reentry: 'parallel' },
      steps: [
        { id: 'size', type: 'branch', cases: [{ if: { left: answer, op: 'gt', right: 6 }, next: 'large' }] },
        { ...say('small', '{{message.content.answers.date}} for {{message.content.answers.people}}'), next: 'end' },
        say('large', 'We call you, {{message.content.answers.guest.name}}'),
      ],
    })
    await submit('{"topic":"table","people":4,"date":"2026-03-05"}')
    await submit('{"topic":"job","people":4}')
    await submit('{"topic":"table","people":12,"guest":{"name":"Eva"}}')
    expect(cloud.accepted.map(({ body }) => body)).to.deep.equal(['2026-03-05 for 4', 'We call you, Eva'])
  })

  it('are stored beside the text as it arrived, without characters that cannot be stored', async () => {
    const response = String.raw`{"flow_token":"t-1","name":"A\u0000na","tags":["a","b"]}`
    await submit(response)
    const content = await readContent()
    expect(content.answers).to.deep.equal({ flow_token: 't-1', name: 'Ana', tags: ['a', 'b'] })
    expect(content.interactive.nfm_reply.response_json).to.equal(response)
  })

  for (const [title, response] of [
    ['are no JSON', 'date=today'],
    ['are no object', '["today"]'],
    ['are cut off', '{"date":"today'],
    ['are longer than the content of a message', JSON.stringify({ text: 'x'.repeat(70_000) })],
  ] as const) {
    it(`that ${title} leave the message without answers`, async () => {
      await submit(response)
      expect(await readContent()).to.not.have.property('answers')
    })
  }

  it('nested very deeply are cut, and stop no other message', async () => {
    await submit(`{"topic":"table","deep":${'['.repeat(20_000)}${']'.repeat(20_000)}}`)
    expect((await readContent()).answers.topic).to.equal('table')
  })
})
