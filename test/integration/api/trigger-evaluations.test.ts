import { expect } from 'chai'
import type { Outcome } from '../../../src/engine/model/evaluation.ts'
import { purgeEvaluations } from '../../../src/features/explanations/list-trigger-evaluations.ts'
import { recordEvaluations, REASONS_MAX } from '../../../src/features/execution/apply-advance.ts'
import { newId } from '../../../src/platform/ids.ts'
import { DAY, HOUR } from '../../../src/platform/time.ts'
import { buildContact, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { readSessionCookie, startTestApp, type TestApp } from '../../support/app.ts'
import { WorkspaceClient } from '../../support/workspace-client.ts'

const PRICES = {
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
  let owner: WorkspaceClient
  let contactId: string
  let workflowId: string

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    owner = await buildWorkspace(app)
    contactId = (await buildContact(owner)).id
    workflowId = await publish(PRICES)
  })

  after(() => app.stop())

  async function publish(definition: object): Promise<string> {
    return (await buildWorkflow(owner, definition)).id
  }

  function getEvaluations(query = '') {
    return owner.call('GET', `/api/contacts/${contactId}/trigger-evaluations?workflowId=${workflowId}${query}`)
  }

  /** Sends a message as the contact, lets workflows run, and returns the message's ID. */
  async function receive(body: string): Promise<string> {
    const { id } = await sendAsCustomer(owner, { contactId, body })
    await app.work()
    return id
  }

  async function updateConversation(change: object): Promise<void> {
    const { items } = await owner.call('GET', `/api/conversations?contactId=${contactId}`)
    await owner.call('PATCH', `/api/conversations/${items[0].id}`, change)
  }
  async function record(outcome: Outcome) {
    const scope = app.system.forTenant(owner.tenantId)
    const event = { type: 'message_received', messageId: null, name: null }
    const evaluations = [{ workflowId, version: 1, outcome, detail: null }]
    await recordEvaluations(scope, [{ id: newId(), contactId, conversationId: null, event, evaluations }])
  }

  it('an evaluation lists the keywords that the message did not contain', async () => {
    const messageId = await receive('hi')
    const [newest] = (await getEvaluations()).evaluations
    expect(newest).to.deep.include({ outcome: 'no_match', version: 1, at: app.clock.now().toISOString() })
    expect(newest.event).to.deep.equal({ type: 'message_received', messageId, name: null })
    expect(newest.message).to.equal('The message "hi" contains none of: price, precio')
  })

  it('of more than 100 reasons for an event 100 are kept, those of workflows whose keywords matched first', async () => {
    const scope = app.system.forTenant(owner.tenantId)
    const event = { type: 'message_received', messageId: null, name: null }
    const others = Array.from({ length: 2 * REASONS_MAX }, () => newId())
    const evaluations = [...others, workflowId].map((id, index) => {
      const outcome: Outcome = index < 2 * REASONS_MAX ? 'no_match' : 'condition_not_met'
      return { workflowId: id, version: 1, outcome, detail: null }
    })
    await recordEvaluations(scope, [{ id: newId(), contactId, conversationId: null, event, evaluations }])
    expect((await getEvaluations()).evaluations).to.have.lengthOf(1)
    const [stored] = await app.system.db('trigger_evaluations').where('tenant_id', owner.tenantId)
    expect(stored.evaluations).to.have.lengthOf(REASONS_MAX)
  })

  it('an evaluation names the trigger condition that was not met', async () => {
    await receive('the price')
    const [newest] = (await getEvaluations()).evaluations
    expect(newest.message).to.equal('The trigger matched, but its condition was not met: contact.language eq "es"')
  })

  it('an evaluation names only conditions of triggers whose keywords matched', async () => {
    const [trigger] = PRICES.triggers
    const condition = { left: '{{contact.name}}', op: 'eq', right: 'Zoe' }
    const match = { mode: 'exact', values: ['hours'] }
    workflowId = await publish({ ...PRICES, triggers: [trigger, { type: 'message_received', match, if: condition }] })
    await receive('Hours')
    const [newest] = (await getEvaluations()).evaluations
    expect(newest.message).to.equal('The trigger matched, but its condition was not met: contact.name eq "Zoe"')
  })

  it('an evaluation states that the workflow was running, outranked, paused or that a run consumed the message', async () => {
    const wait = { id: 'sleep', type: 'wait', for: '2h' }
    const question = { id: 'ask', type: 'ask', message: { body: 'Which?' } }
    const any = { type: 'message_received', match: { mode: 'any' } }
    workflowId = await publish({ triggers: [any], steps: [wait] })
    await receive('one')
    await receive('two')
    const [busy] = (await getEvaluations()).evaluations
    expect(busy).to.deep.include({ outcome: 'already_running' })
    expect(busy.message).to.include('settings.reentry')

    await publish({ triggers: [{ ...any, priority: 1 }], steps: [question] })
    await receive('three')
    expect((await getEvaluations()).evaluations[0]).to.deep.include({ outcome: 'preempted_by_priority' })
    // The question is open now, so the workflow does not start a second time.
    const reply = await receive('four')
    const [consumed] = (await getEvaluations()).evaluations
    expect(consumed).to.deep.include({ outcome: 'consumed_as_reply' })
    expect(consumed.event.messageId).to.equal(reply)

    await updateConversation({ automation: { state: 'paused' } })
    await receive('five')
    expect((await getEvaluations()).evaluations[0]).to.deep.include({ outcome: 'automation_paused' })
  })

  it('GET /api/contacts/{contactId}/trigger-evaluations returns pages, newest first', async () => {
    for (const outcome of ['already_running', 'automation_paused', 'consumed_as_reply'] as const) await record(outcome)
    const first = await getEvaluations('&limit=2')
    expect(first.evaluations.map(({ outcome }: { outcome: string }) => outcome)).to.deep.equal([
      'consumed_as_reply',
      'automation_paused',
    ])
    const second = await getEvaluations(`&limit=2&cursor=${first.nextCursor}`)
    expect(second.evaluations.map(({ outcome }: { outcome: string }) => outcome)).to.deep.equal(['already_running'])
    expect(second.nextCursor).to.equal(undefined)
    expect((await getEvaluations('&limit=2&offset=2')).evaluations).to.deep.equal(second.evaluations)
  })

  it('the reasons list what prevents the workflow from starting now', async () => {
    expect((await getEvaluations()).reasons.map(({ code }: { code: string }) => code)).to.deep.equal([
      'no_matching_event',
    ])
    await receive('hi')
    const until = new Date(app.clock.now().getTime() + HOUR).toISOString()
    await updateConversation({ automation: { state: 'paused', until } })
    await owner.request('POST', `/api/workflows/${workflowId}/unpublish`, {})
    const { reasons } = await getEvaluations()
    expect(reasons.map(({ code }: { code: string }) => code)).to.deep.equal(['workflow_paused', 'automation_paused'])
    expect(reasons[1].message).to.include(`until ${until}`)
    await owner.request('POST', `/api/workflows/${workflowId}/archive`, {})
    expect((await getEvaluations()).reasons[0].message).to.include('Unarchive it and publish it')
  })

  it('the reasons state that no event has matched since the workflow was published', async () => {
    await receive('the price')
    app.clock.advance(HOUR)
    workflowId = await publish({ ...PRICES, triggers: [{ type: 'message_received' }] })
    const publishedAt = app.clock.now().toISOString()
    app.clock.advance(HOUR)
    const { reasons, evaluations } = await getEvaluations()
    expect(evaluations).to.deep.equal([])
    expect(reasons.map(({ code }: { code: string }) => code)).to.deep.equal(['no_matching_event'])
    expect(reasons[0].message).to.include(`since the workflow was published at ${publishedAt}`)
  })

  it('the reasons state that a workflow with only an API trigger starts on request', async () => {
    workflowId = await publish({ ...PRICES, triggers: [{ type: 'api' }] })
    const [reason] = (await getEvaluations()).reasons
    expect(reason.code).to.equal('no_trigger')
    expect(reason.message).to.include('(api)')
  })

  it('runsStarted counts the runs that the contact started', async () => {
    workflowId = await publish({ ...PRICES, triggers: [{ type: 'message_received', match: { mode: 'any' } }] })
    await receive('the price')
    expect(await getEvaluations()).to.deep.include({ runsStarted: 1, reasons: [] })
  })

  it('evaluations are hidden after seven days and deleted by the purge', async () => {
    await record('no_match')
    app.clock.advance(7 * DAY + HOUR)
    // The session expired when the clock advanced.
    const { email, password } = owner
    const response = await app.rest('POST', '/api/auth/sign-in/email', { body: { email, password } })
    owner = new WorkspaceClient(app, { ...owner, cookie: readSessionCookie(response) })
    expect((await getEvaluations()).evaluations).to.deep.equal([])
    await purgeEvaluations(app.system)
    expect(await app.system.db('trigger_evaluations').where({ contact_id: contactId })).to.deep.equal([])
  })

  it('deleting a contact deletes its evaluations', async () => {
    await record('no_match')
    await owner.request('DELETE', `/api/contacts/${contactId}`)
    expect(await app.system.db('trigger_evaluations').where({ contact_id: contactId })).to.deep.equal([])
  })
})
