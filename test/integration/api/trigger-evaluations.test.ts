import { expect } from 'chai'
import type { Outcome } from '../../../src/engine/model/evaluation.ts'
import { purgeEvaluations } from '../../../src/features/explanations/purge-evaluations.ts'
import { recordEvaluations } from '../../../src/features/execution/record-evaluations.ts'
import { newId } from '../../../src/platform/ids.ts'
import { DAY, HOUR } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const PRICES = {
  version: 1,
  triggers: [
    {
      type: 'message_received',
      match: { mode: 'contains', values: ['price', 'precio'] },
      if: { left: '{{contact.language}}', op: 'eq', right: 'es' },
    },
  ],
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'Ten' } }],
}

describe('GET /api/contacts/{contactId}/trigger-evaluations', () => {
  let app: TestApp
  let owner: TestSession
  let contactId: string
  let workflowId: string

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    owner = await app.signUp()
    contactId = await make('/api/contacts', { name: 'Ana', phone: '+4915112345000' })
    workflowId = await publish(PRICES)
  })

  after(() => app.stop())

  async function make(path: string, body: object): Promise<string> {
    const answer = await app.rest('POST', path, { session: owner, body })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
    return answer.body.id
  }

  async function publish(definition: object): Promise<string> {
    const id = await make('/api/workflows', { name: 'Prices', definition })
    const { status, body } = await app.rest('POST', `/api/workflows/${id}/publish`, { session: owner, body: {} })
    expect(status, JSON.stringify(body)).to.equal(200)
    return id
  }

  async function ask(query = '') {
    const path = `/api/contacts/${contactId}/trigger-evaluations?workflowId=${workflowId}${query}`
    const { status, body } = await app.rest('GET', path, { session: owner })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }

  function write(body: string): Promise<string> {
    return make('/api/sandbox/messages', { contactId, body })
  }

  async function record(outcome: Outcome) {
    const scope = app.system.forTenant(owner.tenantId)
    const event = { type: 'message_received', messageId: null, name: null }
    const evaluations = [{ workflowId, version: 1, outcome, detail: null }]
    await recordEvaluations(scope, [{ id: newId(), contactId, conversationId: null, event, evaluations }])
  }

  it('says which words a message would have had to contain', async () => {
    const messageId = await write('hi')
    await app.work()
    const [newest] = (await ask()).evaluations
    expect(newest).to.deep.include({ outcome: 'no_match', version: 1, at: app.clock.now().toISOString() })
    expect(newest.event).to.deep.equal({ type: 'message_received', messageId, name: null })
    expect(newest.message).to.equal('The message "hi" contains none of: price, precio')
  })

  it('names the condition that was not met', async () => {
    await write('the price')
    await app.work()
    const [newest] = (await ask()).evaluations
    expect(newest.message).to.equal('The trigger matched, but its condition was not met: contact.language eq "es"')
  })

  it('names no condition of a trigger that did not match anyhow', async () => {
    const [asking] = PRICES.triggers
    const condition = { left: '{{contact.name}}', op: 'eq', right: 'Zoe' }
    const match = { mode: 'exact', values: ['hours'] }
    workflowId = await publish({ ...PRICES, triggers: [asking, { type: 'message_received', match, if: condition }] })
    await write('Hours')
    await app.work()
    const [newest] = (await ask()).evaluations
    expect(newest.message).to.equal('The trigger matched, but its condition was not met: contact.name eq "Zoe"')
  })

  it('says when the workflow was busy, when a run wanted the message, and when a person had taken over', async () => {
    const sleeping = { id: 'sleep', type: 'wait', for: '2h' }
    const asking = { id: 'ask', type: 'ask', message: { body: 'Which?' } }
    const any = { type: 'message_received', match: { mode: 'any' } }
    workflowId = await publish({ version: 1, triggers: [any], steps: [sleeping] })
    await write('one')
    await app.work()
    await write('two')
    await app.work()
    const [busy] = (await ask()).evaluations
    expect(busy).to.deep.include({ outcome: 'already_running' })
    expect(busy.message).to.include('settings.reentry')

    await publish({ version: 1, triggers: [{ ...any, priority: 1 }], steps: [asking] })
    await write('three')
    await app.work()
    expect((await ask()).evaluations[0]).to.deep.include({ outcome: 'preempted_by_priority' })
    // The question is open now, and its workflow does not start a second time.
    const reply = await write('four')
    await app.work()
    const [taken] = (await ask()).evaluations
    expect(taken).to.deep.include({ outcome: 'consumed_as_reply' })
    expect(taken.event.messageId).to.equal(reply)

    const conversations = await app.rest('GET', `/api/conversations?contactId=${contactId}`, { session: owner })
    const path = `/api/conversations/${conversations.body.items[0].id}`
    await app.rest('PATCH', path, { session: owner, body: { automation: { state: 'paused' } } })
    await write('five')
    await app.work()
    expect((await ask()).evaluations[0]).to.deep.include({ outcome: 'automation_paused' })
  })

  it('goes through what happened from the newest on, page by page', async () => {
    for (const outcome of ['already_running', 'automation_paused', 'consumed_as_reply'] as const) await record(outcome)
    const first = await ask('&limit=2')
    expect(first.evaluations.map(({ outcome }: { outcome: string }) => outcome)).to.deep.equal([
      'consumed_as_reply',
      'automation_paused',
    ])
    expect(first.hasMore).to.equal(true)
    const second = await ask('&limit=2&offset=2')
    expect(second.evaluations.map(({ outcome }: { outcome: string }) => outcome)).to.deep.equal(['already_running'])
    expect(second.hasMore).to.equal(false)
  })

  it('says what keeps the workflow from starting now', async () => {
    expect((await ask()).reasons.map(({ code }: { code: string }) => code)).to.deep.equal(['no_matching_event'])
    await write('hi')
    const conversations = await app.rest('GET', `/api/conversations?contactId=${contactId}`, { session: owner })
    const until = new Date(app.clock.now().getTime() + HOUR).toISOString()
    const path = `/api/conversations/${conversations.body.items[0].id}`
    await app.rest('PATCH', path, { session: owner, body: { automation: { state: 'paused', until } } })
    await app.rest('POST', `/api/workflows/${workflowId}/unpublish`, { session: owner, body: {} })
    const { reasons } = await ask()
    expect(reasons.map(({ code }: { code: string }) => code)).to.deep.equal(['workflow_paused', 'automation_paused'])
    expect(reasons[1].message).to.include(`until ${until}`)
    await app.rest('POST', `/api/workflows/${workflowId}/archive`, { session: owner, body: {} })
    expect((await ask()).reasons[0].message).to.include('Unarchive it and publish it')
  })

  it('says that the workflow was published after what happened', async () => {
    await write('the price')
    await app.work()
    app.clock.advance(HOUR)
    workflowId = await publish({ ...PRICES, triggers: [{ type: 'message_received' }] })
    const publishedAt = app.clock.now().toISOString()
    app.clock.advance(HOUR)
    const { reasons, evaluations } = await ask()
    expect(evaluations).to.deep.equal([])
    expect(reasons.map(({ code }: { code: string }) => code)).to.deep.equal(['no_matching_event'])
    expect(reasons[0].message).to.include(`since the workflow was published, at ${publishedAt}`)
  })

  it('says that a workflow only starts when it is called', async () => {
    workflowId = await publish({ ...PRICES, triggers: [{ type: 'api' }] })
    const [reason] = (await ask()).reasons
    expect(reason.code).to.equal('no_trigger')
    expect(reason.message).to.include('(api)')
  })

  it('counts the runs that the contact did start', async () => {
    workflowId = await publish({ ...PRICES, triggers: [{ type: 'message_received', match: { mode: 'any' } }] })
    await write('the price')
    await app.work()
    expect(await ask()).to.deep.include({ runsStarted: 1, reasons: [] })
  })

  it('forgets after seven days', async () => {
    await record('no_match')
    app.clock.advance(7 * DAY + HOUR)
    // The session has ended meanwhile.
    const { email, password } = owner
    const signedIn = await app.rest('POST', '/api/auth/sign-in/email', { body: { email, password } })
    owner = { ...owner, cookie: signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '' }
    expect((await ask()).evaluations).to.deep.equal([])
    await purgeEvaluations(app.system)
    expect(await app.system.db('trigger_evaluations').where({ contact_id: contactId })).to.deep.equal([])
  })

  it('goes with the contact', async () => {
    await record('no_match')
    await app.rest('DELETE', `/api/contacts/${contactId}`, { session: owner })
    expect(await app.system.db('trigger_evaluations').where({ contact_id: contactId })).to.deep.equal([])
  })
})
