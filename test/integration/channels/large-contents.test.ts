import { expect } from 'chai'
import { newWamid } from '../../../fake-whatsapp/webhooks.ts'
import { buildChannel, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { listWebhooks, postSigned } from '../../support/signed-webhook.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const KB = 1024

describe('inbound messages with large content', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let channel: ApiResponse['body']

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    channel = await buildChannel(workspace)
  })

  after(() => app.stop())

  async function receive(parts: object[]): Promise<void> {
    const messages = parts.map((part) => ({ id: newWamid(), from: '4915112345678', timestamp: '1772445600', ...part }))
    const value = { metadata: { phone_number_id: channel.phoneNumberId }, messages }
    const call = JSON.stringify({ entry: [{ id: '1', changes: [{ field: 'messages', value }] }] })
    expect(await postSigned(workspace, channel, call)).to.include({ status: 200 })
  }

  async function list(query = ''): Promise<ApiResponse['body']> {
    const [conversation] = (await workspace.call('GET', '/api/conversations')).items
    return workspace.call('GET', `/api/conversations/${conversation.id}/messages${query}`)
  }

  it('are stored without the values that do not fit into 64 KB, and say so', async () => {
    const interactive = {
      type: 'button_reply',
      button_reply: { id: 'yes', title: 'Yes' },
      extra: 'x'.repeat(65 * KB),
      list: [1, 'y'.repeat(65 * KB), 2],
      later: 'kept',
    }
    await receive([{ type: 'interactive', interactive }])
    const [message] = (await list()).messages
    const { extra: _, ...rest } = interactive
    expect(message.content).to.deep.equal({ buttonId: 'yes', interactive: { ...rest, list: [1, 2] }, truncated: true })
  })

  it('are stored with at most 64 KB when they have very many values', async () => {
    await receive([{ type: 'contacts', contacts: Array.from({ length: 30_000 }, (_, index) => ({ ü: index })) }])
    const [{ content }] = (await list()).messages
    expect(content.truncated).to.equal(true)
    expect(Buffer.byteLength(JSON.stringify(content))).to.be.within(40 * KB, 65 * KB)
    expect(content.contacts[0]).to.deep.equal({ ü: 0 })
  })

  it('are stored with the first 16,384 characters of their text', async () => {
    await receive([{ type: 'text', text: { body: '🙂'.repeat(50_000) } }])
    const [{ body, content }] = (await list()).messages
    expect(body).to.equal('🙂'.repeat(8192))
    expect(content).to.deep.equal({ truncated: true })
  })

  it('are kept as they arrived in the webhook call', async () => {
    const extra = 'x'.repeat(65 * KB)
    await receive([{ type: 'location', location: { latitude: 1, longitude: 2, extra } }])
    const [{ id }] = await listWebhooks(workspace, channel)
    const kept = await workspace.call('GET', `/api/channels/${channel.id}/webhooks/${id}`)
    expect(JSON.stringify(kept)).to.contain(extra)
  })

  it('of up to 64 KB are unchanged, and end a page of messages early', async () => {
    const build = (index: number) => ({ type: 'location', location: { name: `${index}`, notes: 'x'.repeat(60 * KB) } })
    await receive(Array.from({ length: 40 }, (_, index) => build(index)))
    await receive(Array.from({ length: 40 }, (_, index) => build(40 + index)))
    const newest = await list()
    expect(newest.messages.length).to.be.within(60, 75)
    const older = await list(`?cursor=${newest.nextCursor}`)
    expect(older.nextCursor).to.equal(undefined)
    const all = [...older.messages, ...newest.messages]
    expect(all.map(({ content }) => content)).to.have.deep.members(
      Array.from({ length: 80 }, (_, index) => ({ location: build(index).location })),
    )
  })
})
