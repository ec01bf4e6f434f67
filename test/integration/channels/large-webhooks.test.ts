import { expect } from 'chai'
import { newWamid } from '../../../fake-whatsapp/webhooks.ts'
import { buildChannel, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { measureCpu } from '../../support/cpu.ts'
import { listWebhooks, postSigned } from '../../support/signed-webhook.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('webhook calls with many parts', () => {
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

  function toCall(value: object): string {
    const named = { metadata: { phone_number_id: channel.phoneNumberId }, ...value }
    return JSON.stringify({ entry: [{ id: '1', changes: [{ field: 'messages', value: named }] }] })
  }

  function buildMessages(count: number, address: (index: number) => object) {
    const text = { timestamp: '1772445600', type: 'text', text: { body: 'Hi' } }
    return Array.from({ length: count }, (_, index) => ({ id: newWamid(), ...text, ...address(index) }))
  }

  const toPhone = (index: number) => String(15_550_100_000 + index)

  it('are stored if they have up to 1,000', async function () {
    const messages = buildMessages(1000, (index) => ({ from: toPhone(index % 100) }))
    const contacts = Array.from({ length: 100 }, (_, index) => ({
      wa_id: toPhone(index),
      profile: { name: `P${index}` },
    }))
    expect(await postSigned(workspace, channel, toCall({ messages, contacts }))).to.include({ status: 200 })
    const { items, total } = await workspace.call('GET', '/api/contacts?q=P99')
    expect([items[0].phone, total]).to.deep.equal([`+${toPhone(99)}`, 1])
    expect(await listWebhooks(workspace, channel)).to.have.nested.property('[0].counts.messages', 1000)
  })

  it('are refused as a whole with 413 if they have more, and listed with the reason', async () => {
    const messages = buildMessages(1001, (index) => ({ from: toPhone(index) }))
    const { status, text } = await postSigned(workspace, channel, toCall({ messages }))
    expect([status, JSON.parse(text).code]).to.deep.equal([413, 'too_many_parts'])
    expect((await workspace.call('GET', '/api/contacts')).total).to.equal(0)
    const [kept] = await listWebhooks(workspace, channel)
    expect(kept).to.include({ status: 'rejected' })
    const entry = Array.from({ length: 1001 }, (_, index) => ({ id: String(index), changes: [] }))
    expect(await postSigned(workspace, channel, JSON.stringify({ entry }))).to.include({ status: 413 })
  })

  it('are refused before millions of values are parsed', async () => {
    const body = `{"entry":[${'1,'.repeat(1_400_000)}1]}`
    const cost = await measureCpu(async () => {
      expect(await postSigned(workspace, channel, body)).to.include({ status: 400 })
    })
    expect(cost).to.be.lessThan(250)
  })

  it('have the answers to a Flow in each message, as far as the call has no more values with them', async () => {
    const post = async (count: number, answers: object) => {
      const nfm_reply = { name: 'flow', body: 'Sent', response_json: JSON.stringify(answers) }
      const interactive = { type: 'nfm_reply', nfm_reply }
      const messages = buildMessages(count, (index) => ({ from: toPhone(index) })).map((one) => ({
        ...one,
        type: 'interactive',
        interactive,
      }))
      expect(await postSigned(workspace, channel, toCall({ messages }))).to.include({ status: 200 })
      const rows = await app.system.db('messages').where('tenant_id', workspace.tenantId).select('content')
      return rows.slice(-count).map(({ content }) => content.answers !== undefined)
    }
    const few = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`question${index}`, index]))
    expect(new Set(await post(1000, few))).to.deep.equal(new Set([true]))
    await app.system.db('messages').where('tenant_id', workspace.tenantId).delete()
    const many = await post(40, { list: Array.from({ length: 30_000 }, () => 1) })
    expect([many.length, many.filter(Boolean).length]).to.deep.equal([40, 6])
  })

  it('cost no more per message when each of them has contacts to search', async () => {
    const people = Array.from({ length: 1000 }, (_, index) => ({ wa_id: toPhone(index), profile: { name: 'P' } }))
    const post = (count: number, contacts: object[]) => async () => {
      const messages = buildMessages(count, () => ({ from: toPhone(1) })).map((one) => ({
        ...one,
        type: 'unsupported',
      }))
      expect(await postSigned(workspace, channel, toCall({ messages, contacts }))).to.include({ status: 200 })
    }
    await post(1000, people)()
    const alone = await measureCpu(post(1000, people.slice(0, 2)))
    expect(await measureCpu(post(1000, people))).to.be.lessThan(1.5 * alone + 50)
  })

  it('of one person with a thousand numbers are stored as those of one contact', async () => {
    const messages = buildMessages(1000, (index) => ({ from: toPhone(index), from_user_id: 'US.1' }))
    expect(await postSigned(workspace, channel, toCall({ messages }))).to.include({ status: 200 })
    expect((await workspace.call('GET', '/api/contacts')).total).to.equal(1)
  })
})
