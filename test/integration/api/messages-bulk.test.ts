import { expect } from 'chai'
import { systemClock } from '../../../src/platform/time.ts'
import {
  buildChannel,
  buildContact,
  buildTemplate,
  buildWorkflow,
  buildWorkspace,
  getSandboxId,
  newPhone,
  sendAsCustomer,
} from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { killDuringCall } from '../../support/killed-call.ts'
import { recordStatements } from '../../support/statements.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Result = { index: number; status: string; id: string | null; error: { code: string; message: string } | null }
type Answer = { results: Result[]; counts: Record<string, number> }

const PATH = '/api/messages/bulk'
const DAY_MS = 24 * 60 * 60 * 1000

const template = { name: 'news', language: 'en', params: { name: 'Ana' } }

/** Items to phone numbers that no contact has. */
const buildItems = (count: number) => Array.from({ length: count }, () => ({ to: { phone: newPhone() }, template }))

const summarize = ({ results }: Answer) => results.map(({ status, error }) => error?.code ?? status)

describe('POST /api/messages/bulk', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })
  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    await buildTemplate(workspace, { name: 'news', category: 'utility', body: 'Hi {{name}}' })
  })
  after(() => app.stop())

  const bulk = (items: unknown[]): Promise<Answer> => workspace.call('POST', PATH, { items })
  const request = (items: unknown[], key: string): Promise<ApiResponse> =>
    workspace.request('POST', PATH, { items }, { 'idempotency-key': key })
  const get = (id: string | null | undefined) => workspace.call('GET', `/api/messages/${id}`)
  const count = async (table: string): Promise<number> => {
    const rows = await app.system.db(table).where('tenant_id', workspace.tenantId).count({ n: '*' })
    return Number(rows[0]?.['n'])
  }

  /** Opens the service window of a new contact. */
  async function receive(): Promise<{ contactId: string; conversationId: string }> {
    const { contactId, conversationId } = await sendAsCustomer(workspace)
    await app.work()
    return { contactId, conversationId }
  }

  it('queues and schedules messages as POST /api/messages does, and delivers each once', async () => {
    const { contactId, conversationId } = await receive()
    const known = await buildContact(workspace, { externalId: 'crm-1' })
    const sendAt = new Date(app.clock.now().getTime() + 60_000).toISOString()
    const answer = await bulk([
      { to: { contactId }, body: 'First' },
      { to: { contactId: contactId.toUpperCase() }, body: 'Second' },
      { to: { externalId: 'crm-1' }, template },
      { to: { phone: newPhone(), name: 'New' }, template },
      { to: { contactId }, body: 'Later', sendAt },
    ])
    expect(summarize(answer)).to.deep.equal(['queued', 'queued', 'queued', 'queued', 'scheduled'])
    expect(answer.counts).to.deep.equal({ queued: 4, scheduled: 1, failed: 0 })
    expect(answer.results.map(({ index }) => index)).to.deep.equal([0, 1, 2, 3, 4])
    await app.work()
    const messages = await Promise.all(answer.results.map(({ id }) => get(id)))
    expect(messages.map(({ status }) => status)).to.deep.equal([...Array<string>(4).fill('delivered'), 'scheduled'])
    expect(messages[2]).to.include({ contactId: known.id, body: 'Hi Ana', type: 'template' })
    const { messages: listed } = await workspace.call('GET', `/api/conversations/${conversationId}/messages`)
    expect(listed.map(({ body }: { body: string }) => body)).to.deep.equal(['Hello', 'First', 'Second', 'Later'])
    const { automation } = await workspace.call('GET', `/api/conversations/${conversationId}`)
    expect(automation).to.include({ state: 'paused', reason: 'human_reply' })
    const created = await workspace.call('GET', `/api/conversations/${messages[3].conversationId}`)
    expect(created.automation.state).to.equal('on')
  })

  it('fails each item that is wrong or refused, and sends the others', async () => {
    const { contactId } = await receive()
    const optedOut = await buildContact(workspace, { consent: { marketing: 'opted_out' } })
    const blocked = await buildContact(workspace)
    await workspace.call('PATCH', `/api/contacts/${blocked.id}`, { blocked: true })
    const other = await buildWorkspace(app)
    const foreign = await buildContact(other)
    const sale = await buildTemplate(workspace)
    const [contacts, conversations] = [await count('contacts'), await count('conversations')]
    const answer = await bulk([
      { to: { contactId }, body: 'Fine' },
      { to: { contactId } },
      'no object',
      { to: { contactId }, body: 'A', colour: 'red' },
      { to: { contactId, externalId: 'both' }, body: 'A' },
      { to: { contactId: foreign.id }, template },
      { to: { contactId: 'no-id' }, template },
      { to: { externalId: 'nobody' }, template },
      { to: { phone: newPhone() }, body: 'Closed window' },
      { to: { contactId: optedOut.id }, template: { templateId: sale.id } },
      { to: { contactId: blocked.id }, template },
      { to: { phone: newPhone() }, template: { ...template, params: {} } },
      { to: { phone: newPhone() }, template: { ...template, name: 'unknown' } },
      { to: { contactId }, body: 'A', sendAt: '2020-01-01T00:00:00Z' },
      { to: { contactId }, body: 'A', replyToId: '0199c0de-ffff-7000-8000-000000000000' },
      { to: { contactId }, channelId: await getSandboxId(other), body: 'A' },
      { to: { contactId }, media: { type: 'image', mediaId: '0199c0de-ffff-7000-8000-000000000000' } },
    ])
    expect(summarize(answer)).to.deep.equal([
      'queued',
      ...Array<string>(4).fill('validation_failed'),
      ...Array<string>(3).fill('not_found'),
      'outside_window',
      'contact_opted_out',
      'contact_blocked',
      'template_params_invalid',
      'not_found',
      'validation_failed',
      'not_found',
      'not_found',
      'not_found',
    ])
    expect(answer.results[3]?.error?.message).to.equal('colour is not a field of a message')
    expect(answer.results[13]?.error?.message).to.equal('sendAt must be in the future')
    expect(answer.counts).to.deep.equal({ queued: 1, scheduled: 0, failed: 16 })
    expect([await count('contacts'), await count('conversations')]).to.deep.equal([contacts, conversations])
    // That of the customer, and the one that is sent.
    expect(await count('messages')).to.equal(2)
  })

  it('counts the service window of each conversation, also that of a message that is scheduled', async () => {
    const { contactId } = await receive()
    app.clock.advance(DAY_MS + 1000)
    const open = await receive()
    const sendAt = new Date(app.clock.now().getTime() + DAY_MS).toISOString()
    const answer = await bulk([
      { to: { contactId }, body: 'Closed' },
      { to: { contactId }, template },
      { to: { contactId: open.contactId }, body: 'Open' },
      { to: { contactId: open.contactId }, body: 'Closed by then', sendAt },
    ])
    expect(summarize(answer)).to.deep.equal(['outside_window', 'queued', 'queued', 'outside_window'])
  })

  it('creates an unknown number once, and sends its messages in their order', async () => {
    const phone = newPhone()
    const answer = await bulk(
      [1, 2, 3].map((n) => ({ to: { phone }, template: { ...template, params: { name: `${n}` } } })),
    )
    expect(summarize(answer)).to.deep.equal(['queued', 'queued', 'queued'])
    await app.work()
    const messages = await Promise.all(answer.results.map(({ id }) => get(id)))
    expect(new Set(messages.map(({ conversationId }) => conversationId)).size).to.equal(1)
    const ids = answer.results.map(({ id }) => id)
    expect(ids.toSorted()).to.deep.equal(ids)
    expect(messages.map(({ status }) => status)).to.deep.equal(Array<string>(3).fill('delivered'))
    expect(await count('contacts')).to.equal(1)
  })

  it('starts workflows for contacts that it creates', async () => {
    await buildWorkflow(workspace, { triggers: [{ type: 'contact_created' }], steps: [say('noted', 'Noted')] })
    await bulk(buildItems(3))
    await app.work()
    expect((await workspace.call('GET', '/api/runs')).total).to.equal(3)
  })

  it('sends on several channels, and of a key only on its own', async () => {
    const sandbox = await getSandboxId(workspace)
    const { id: otherId } = await buildChannel(workspace)
    await buildTemplate(workspace, { name: 'news', category: 'utility', body: 'Hi {{name}}', channelId: otherId })
    const { contactId } = await sendAsCustomer(workspace)
    const items = [
      { to: { contactId }, channelId: sandbox, body: 'Hello' },
      { to: { phone: newPhone() }, channelId: sandbox, template },
      { to: { contactId }, channelId: otherId, body: 'Hello' },
    ]
    expect(summarize(await bulk(items))).to.deep.equal(['queued', 'queued', 'outside_window'])
    const { key } = await workspace.call('POST', '/api/api-keys', {
      name: 'One channel',
      scopes: ['messages:send'],
      channelIds: [otherId],
    })
    const answer = await app.rest('POST', PATH, { body: { items }, headers: { authorization: `Bearer ${key}` } })
    expect(summarize(answer.body)).to.deep.equal(['forbidden', 'forbidden', 'outside_window'])
    expect(answer.body.results[0].error.message).to.equal('The API key may not send on this channel')
    const { key: reader } = await workspace.call('POST', '/api/api-keys', { name: 'Reader', scopes: ['read_only'] })
    const refused = await app.rest('POST', PATH, { body: { items }, headers: { authorization: `Bearer ${reader}` } })
    expect(refused.status).to.equal(403)
  })

  it('sends nothing again for the same Idempotency-Key, also at the same time', async () => {
    const items = buildItems(20)
    const answers = await Promise.all([request(items, 'same'), request(items, 'same'), request(items, 'same')])
    const accepted = answers.filter(({ status }) => status === 200)
    expect(accepted.length).to.be.at.least(1)
    for (const { status, body } of answers) if (status !== 200) expect(body.code).to.equal('idempotency_in_progress')
    const repeated = await request(items, 'same')
    expect(repeated.headers.get('idempotency-replayed')).to.equal('true')
    expect(repeated.body).to.deep.equal(accepted[0]?.body)
    expect(await count('messages')).to.equal(20)
    const reused = await request(buildItems(1), 'same')
    expect([reused.status, reused.body.code]).to.deep.equal([422, 'idempotency_key_reused'])
  })

  it('creates each contact and conversation once in calls with different keys at the same time', async () => {
    const items = buildItems(50)
    const answers = await Promise.all([
      request(items, 'one'),
      request(items.toReversed(), 'two'),
      workspace.request('POST', '/api/messages', items[0]),
    ])
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 201])
    expect(answers.slice(0, 2).map(({ body }) => body.counts.queued)).to.deep.equal([50, 50])
    expect([await count('contacts'), await count('conversations')]).to.deep.equal([50, 50])
    expect(await count('messages')).to.equal(101)
  })

  it('returns 400 for more than 500 items or none', async () => {
    for (const items of [[], Array(501).fill({ to: { phone: newPhone() }, template })]) {
      const { status, body } = await workspace.request('POST', PATH, { items })
      expect([status, body.code]).to.deep.equal([400, 'validation_failed'])
    }
  })
})

describe('POST /api/messages/bulk of a process without a worker', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    // Statements of a worker would be counted. The process that is killed has the clock of the system.
    app = await startTestApp({ ROLES: 'http' }, systemClock)
    workspace = await buildWorkspace(app)
    await buildTemplate(workspace, { name: 'news', category: 'utility', body: 'Hi {{name}}' })
  })
  after(() => app.stop())

  const send = (items: object[]): Promise<Answer> => workspace.call('POST', PATH, { items })

  it('executes as many statements for 500 messages as for one', async () => {
    await send(buildItems(1))
    const one = await recordStatements(() => send(buildItems(1)))
    const items = buildItems(500)
    const all = await recordStatements(async () => {
      expect((await send(items)).counts).to.deep.equal({ queued: 500, scheduled: 0, failed: 0 })
    })
    expect(all.length).to.be.within(one.length, one.length + 3)
    const again = await recordStatements(async () => {
      expect((await send(items)).counts).to.deep.equal({ queued: 500, scheduled: 0, failed: 0 })
    })
    expect(again.length).to.be.at.most(one.length)
  })

  it('stores all messages or none when the process is killed half way, and all once after a repetition', async () => {
    const { id: contactId } = await buildContact(workspace)
    const items = [...buildItems(30), { to: { contactId }, template }]
    const count = async () => Number((await app.system.db('messages').count({ n: '*' }))[0]?.['n'])
    const before = await count()
    const repeat = await killDuringCall(app, workspace, {
      path: PATH,
      body: { items },
      // The messages are stored before their contacts are locked.
      lock: 'select 1 from contacts where tenant_id = ? and id = ? for no key update',
      values: [workspace.tenantId, contactId],
    })
    expect(await count()).to.equal(before)
    const repeated = await repeat()
    expect(((await repeated.json()) as Answer).counts).to.deep.equal({ queued: 31, scheduled: 0, failed: 0 })
    await repeat()
    expect(await count()).to.equal(before + 31)
  })
})
