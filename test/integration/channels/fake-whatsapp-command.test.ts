import { expect } from 'chai'
import { systemClock } from '../../../src/platform/time.ts'
import { parseOptions, USAGE } from '../../../fake-whatsapp/parse-options.ts'
import { buildChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import { FakeWhatsappProcess } from '../../support/fake-whatsapp-process.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CUSTOMER = '+5511900000001'

describe('npm run fake-whatsapp', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let fake: FakeWhatsappProcess

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' }, systemClock)
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, {
      steps: [{ type: 'send_message', id: 'a', message: { body: 'You wrote {{message.body}}' } }],
    })
    fake = await FakeWhatsappProcess.start('--status-delay', '1')
    const { webhookPath } = await buildChannel(workspace, {
      phoneNumberId: '100000000000001',
      baseUrl: fake.url,
      accessToken: 'fake-access-token',
      appSecret: 'fake-app-secret',
      verifyToken: 'fake-verify-token',
    })
    await fake.control('POST', '/settings', { webhook: app.url + webhookPath })
  })

  after(async () => {
    await fake?.stop()
    await app.stop()
  })

  const listMessages = async (recipient: string): Promise<{ body: string; wamid: string }[]> =>
    (await fake.control('GET', `/messages?recipient=${encodeURIComponent(recipient)}`)).items

  it('writes as a customer, accepts the reply and reports its statuses', async () => {
    expect(await fake.control('POST', '/messages', { from: CUSTOMER, body: 'Hello' })).to.include({ webhook: 200 })
    await waitUntil(async () => (await listMessages(CUSTOMER)).length === 1)
    expect((await listMessages(CUSTOMER))[0]).to.include({ body: 'You wrote Hello' })
    await waitUntil(async () => fake.output.includes('"status":"read"'))
    expect(fake.output).to.contain(`received POST /100000000000001/messages {"messaging_product":"whatsapp"`)
  })

  it('repeats webhooks that are delivered twice without a second reply', async () => {
    const from = '+5511900000002'
    await fake.control('POST', '/settings', { duplicates: 1, reordering: 1 })
    await fake.control('POST', '/messages', { from, body: 'Hello' })
    await fake.control('POST', '/settings', { duplicates: 0, reordering: 0 })
    await app.work()
    expect(await listMessages(from)).to.have.length(1)
  })

  it('throttles sends to one person after a burst, and by order fails the next one or those to a recipient', async () => {
    const send = async (to: string) => {
      const response = await fetch(`${fake.url}/v24.0/100000000000001/messages`, {
        method: 'POST',
        headers: { authorization: 'Bearer fake-access-token' },
        body: JSON.stringify({ messaging_product: 'whatsapp', to, type: 'text', text: { body: 'Hi' } }),
      })
      const body = (await response.json()) as { error?: { code: number } }
      return body.error?.code ?? 'accepted'
    }
    await fake.control('POST', '/settings', { pairSeconds: 60 })
    const codes = []
    for (let count = 0; count < 47; count += 1) codes.push(await send('+5511900000003'))
    expect(codes.filter((code) => code === 'accepted')).to.have.length(46)
    expect(codes.at(-1)).to.equal(131056)
    await fake.control('POST', '/settings', { pairSeconds: null })
    await fake.control('POST', '/failures', { code: 131000 })
    await fake.control('POST', '/failures', { recipient: '+5511900000004', code: 131026 })
    expect(await send('+5511900000005')).to.equal(131000)
    expect(await send('+5511900000004')).to.equal(131026)
    expect(await send('+5511900000005')).to.equal('accepted')
    await fake.control('DELETE', '/failures')
    expect(await send('+5511900000004')).to.equal('accepted')
  })

  it('approves a template after the delay that the command line sets', async () => {
    const body = { name: 'hello', language: 'en', category: 'UTILITY', components: [{ type: 'BODY', text: 'Hello' }] }
    await fake.control('POST', '/settings', { approveAfterMs: 1 })
    await fetch(`${fake.url}/v24.0/200000000000001/message_templates`, {
      method: 'POST',
      headers: { authorization: 'Bearer fake-access-token' },
      body: JSON.stringify(body),
    })
    await waitUntil(async () => (await fake.control('GET', '/templates')).items[0]?.status === 'APPROVED')
    expect(await fake.control('POST', '/templates/hello/pause')).to.include({ webhook: 200 })
  })

  it('rejects unknown settings and messages without content with the reason', async () => {
    const problem = (path: string, body: object) => errorMessage(fake.control('POST', path, body))
    expect(await problem('/settings', { lag: 1 })).to.contain('lag')
    expect(await problem('/messages', { from: CUSTOMER })).to.contain('either body, message or file')
    expect(await problem('/templates/none/approve', {})).to.contain('no template')
  })

  it('explains its options, and rejects values that are no numbers', () => {
    expect(USAGE).to.contain('--approve-after').and.to.contain('POST /fake/messages')
    expect(parseOptions(['--help'])).to.equal(undefined)
    expect(parseOptions(['--approve-after', 'never'])?.settings).to.include({ approveAfterMs: null })
    expect(() => parseOptions(['--latency', 'x'])).to.throw('latency')
  })
})
