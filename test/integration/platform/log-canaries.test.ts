import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { expect } from 'chai'
import { createLogger } from '../../../src/platform/log.ts'
import {
  buildCloudApiChannel,
  buildContact,
  buildConversation,
  buildWorkflow,
  buildWorkspace,
  sendAsCustomer,
} from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { readServerLog } from '../../support/postgres.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { WebhookCaller } from '../../support/webhook-caller.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** Every secret and every personal detail contains this text or these digits. */
const CANARY = /canary|5599111/i
const NAME = 'Canary Silva'
const PHONE = '+15559911100'
const EMAIL = 'canary@customer.example'
const TEXT = 'my canary text'
const TOKEN = 'canary-token-1234567890'

/** A mail server that rejects every recipient and repeats the address. */
async function startRejectingMailServer(): Promise<{ server: Server; url: string }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).write('220 mail\r\n')
    socket.on('data', (data) => {
      const line = data.toString()
      socket.write(/^RCPT/i.test(line) ? `550 no mailbox ${line.trim()}\r\n` : '250 ok\r\n')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { server, url: `smtp://127.0.0.1:${port}` }
}

describe('log lines', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let mail: { server: Server; url: string }
  const lines: string[] = []

  before(async () => {
    mail = await startRejectingMailServer()
    const log = createLogger('trace', { write: (line) => void lines.push(line) })
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', SMTP_URL: mail.url }, undefined, log)
    owner = await buildWorkspace(app)
  })

  after(async () => {
    await app.stop()
    mail.server.close()
  })

  beforeEach(() => lines.splice(0))

  /** Asserts that something was logged, with these messages, and that no line contains a canary. */
  function assertClean(...messages: string[]): void {
    const logged = lines.map((line) => String((JSON.parse(line) as { msg: string }).msg))
    for (const message of messages) expect(logged.join('\n')).to.include(message)
    expect(lines.filter((line) => CANARY.test(line))).to.deep.equal([])
    expect(
      readServerLog()
        .split('\n')
        .filter((line) => CANARY.test(line)),
    ).to.deep.equal([])
  }

  /** Makes writes to a table fail with an error whose detail is the whole row. */
  async function breakTable(table: string, check: string, work: () => Promise<void>): Promise<void> {
    await app.system.db.raw(`alter table ${table} add constraint broken check (${check}) not valid`)
    try {
      await work()
    } finally {
      await app.system.db.raw(`alter table ${table} drop constraint broken`)
    }
  }

  it('contain no data of contacts from requests that succeed, conflict or are invalid', async () => {
    const contact = { name: NAME, phone: PHONE, email: EMAIL, fields: { note: TEXT } }
    await buildContact(owner, contact)
    const statuses = [
      await owner.request('POST', '/api/contacts', contact),
      await owner.request('POST', '/api/contacts', { ...contact, phone: `${PHONE}canary` }),
      await owner.request('POST', '/api/contacts', `{"name":"${NAME}`),
      await owner.request('GET', `/api/contacts?q=${encodeURIComponent(EMAIL)}`),
      await owner.request('GET', `/api/contacts/${encodeURIComponent(PHONE)}`),
      await owner.request('GET', `/api/contacts/canary`),
      await owner.request('GET', `/api/${TOKEN}`),
      await owner.request('GET', `/api/trpc/contacts.get,${TOKEN}?input=${TOKEN}`),
    ].map(({ status }) => status)
    expect(statuses).to.deep.equal([409, 400, 400, 200, 404, 404, 404, 404])
    assertClean('request answered')
  })

  it('contain no row of a statement that fails unexpectedly', async () => {
    await breakTable('contacts', 'email is null', async () => {
      const response = await owner.request('POST', '/api/contacts', { name: NAME, phone: '+15559911121', email: EMAIL })
      expect(response.status).to.equal(500)
      const error = await app
        .client(owner)
        .contacts.create.mutate({ name: NAME, phone: '+15559911122', email: EMAIL })
        .catch(String)
      expect(error).to.include('Something went wrong')
    })
    assertClean('procedure failed')
    expect(lines.join('')).to.include('"code":"23514"').and.include('"constraint":"broken"')
  })

  it('contain no password, token or address from sign-ups, sign-ins and resets', async () => {
    const credentials = { name: NAME, email: EMAIL, password: TOKEN }
    const calls: [path: string, body: object][] = [
      ['sign-up/email', credentials],
      ['sign-up/email', credentials],
      ['sign-in/email', { email: EMAIL, password: TOKEN }],
      ['sign-in/email', { email: EMAIL, password: `${TOKEN}x` }],
      ['forget-password', { email: EMAIL }],
      ['reset-password', { token: TOKEN.padEnd(43, 'x'), newPassword: TOKEN }],
    ]
    const statuses: number[] = []
    for (const [path, body] of calls) statuses.push((await app.rest('POST', `/api/auth/${path}`, { body })).status)
    expect(statuses).to.deep.equal([200, 409, 200, 401, 200, 400])
    await app.rest('GET', '/api/contacts', { headers: { cookie: `session_token=${TOKEN}`, 'x-tenant-id': TOKEN } })
    const failure = 'a password reset could not be emailed'
    await waitUntil(() => lines.some((line) => line.includes(failure)))
    assertClean('request answered', failure)
  })

  it('contain no data of webhooks with wrong signatures, invalid bodies or rows that cannot be stored', async () => {
    const cloud = await FakeCloudApi.start({ clock: app.clock })
    await buildCloudApiChannel(owner, cloud)
    await cloud.webhooks.post(`{"text":"${TEXT}"}`, 'sha256=canary')
    await cloud.webhooks.post(`{"text":"${TEXT}`)
    await cloud.webhooks.post(cloud.webhooks.envelope({ messages: [{ from: PHONE, text: { body: TEXT } }] }))
    await cloud.webhooks.requestHandshake(TOKEN)
    await breakTable('messages', "body not like '%canary%'", async () => {
      const { status } = await cloud.webhooks.sendText({ from: PHONE.slice(1), name: NAME, body: TEXT })
      expect(status).to.equal(200)
      await app.work()
    })
    cloud.rejectNext(131026, { details: `${PHONE} is unreachable` })
    const conversation = await buildConversation(owner, { phone: PHONE, body: TEXT })
    await owner.call('POST', `/api/conversations/${conversation.id}/messages`, { body: TEXT })
    const caller = new WebhookCaller(app, owner)
    const webhook = await caller.publishWithSecret()
    await caller.call(webhook.path, `{"order":"${TEXT}"}`, { 'x-parley-signature': TOKEN })
    await caller.call(`${webhook.path}?token=${TOKEN}`, `{"order":"${TEXT}`, { authorization: `Bearer ${TOKEN}` })
    await caller.callSigned(webhook, { order: TEXT })
    await app.work()
    await cloud.stop()
    assertClean('a webhook could not be processed')
  })

  it('contain no data of runs and of calls that fail', async () => {
    const server = await ScriptedServer.start()
    server.replyWith(json({ secret: TOKEN }, 500), (_, response) => void response.destroy())
    const workspace = await buildWorkspace(app)
    const headers = { 'x-note': TEXT }
    await buildWorkflow(workspace, {
      variables: { base: { type: 'string', default: server.url } },
      steps: [
        { id: 'a', type: 'http', url: `{{vars.base}}/?note=${TEXT}`, headers, onError: 'b' },
        { id: 'b', type: 'http', url: `{{vars.base}}/?token={{message.body}}`, onError: 'c' },
        { id: 'c', type: 'add_note', body: '{{message.body}}' },
      ],
    })
    await sendAsCustomer(workspace, { phone: PHONE, name: NAME, body: TEXT })
    await app.work()
    await breakTable('run_steps', "input::text not like '%canary%'", async () => {
      await sendAsCustomer(workspace, { phone: PHONE, body: TEXT })
      await app.work()
    })
    await server.stop()
    assertClean('failed to advance a mailbox')
  })
})
