import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { HOUR, MINUTE } from '../../../src/platform/time.ts'
import { buildChannel, buildContact, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'
import { rollUpCounts } from '../../../src/features/counts/maintain-counts.ts'

const ASKING = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['hello'] } }],
  steps: [
    {
      id: 'city',
      type: 'ask',
      message: { body: 'Hello {{contact.name}}, which city?' },
      saveAs: 'vars.city',
      timeout: '1h',
      onTimeout: 'nudge',
    },
    { id: 'note', type: 'add_tag', tags: ['asked'] },
    { id: 'thanks', type: 'send_message', message: { body: '{{vars.city}} it is' }, next: 'end' },
    { id: 'nudge', type: 'send_message', message: { body: 'Still there?' } },
  ],
}

describe('POST /api/workflows/{workflowId}/simulate', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const createDraft = async (definition: object = ASKING): Promise<string> =>
    (await buildWorkflow(workspace, definition, { publish: false })).id
  const publish = (workflowId: string) => workspace.call('POST', `/api/workflows/${workflowId}/publish`, {})
  const unpublish = (workflowId: string) => workspace.call('POST', `/api/workflows/${workflowId}/unpublish`, {})

  const simulate = (workflowId: string, body: unknown) =>
    workspace.request('POST', `/api/workflows/${workflowId}/simulate`, body)

  /** Sends messages of a customer to the published workflows, one per minute. */
  async function converse(phone: string, ...bodies: string[]): Promise<{ contactId: string; conversationId: string }> {
    for (const body of bodies) {
      await sendAsCustomer(workspace, { phone, name: 'Rui', body })
      await app.work()
      app.clock.advance(MINUTE)
    }
    const contacts = await workspace.call('GET', `/api/contacts?phone=${encodeURIComponent(phone)}`)
    const [{ id: contactId }] = contacts.items
    const conversations = await workspace.call('GET', `/api/conversations?contactId=${contactId}`)
    return { contactId, conversationId: conversations.items[0].id }
  }

  it('simulates the draft with a dialogue and returns transcript, effects and steps', async () => {
    const dialogue = [
      { type: 'message', body: 'hello' },
      { type: 'message', body: 'Porto', after: '10m' },
    ]
    const { status, body } = await simulate(await createDraft(), { dialogue, contact: { name: 'Ana' } })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body.transcript.map((entry: { from: string; body: string }) => [entry.from, entry.body])).to.deep.equal([
      ['customer', 'hello'],
      ['workflow', 'Hello Ana, which city?'],
      ['customer', 'Porto'],
      ['workflow', 'Porto it is'],
    ])
    const [run] = body.runs
    expect(run).to.deep.include({ status: 'completed', workflowVersion: null, variables: { city: 'Porto' } })
    expect(
      run.steps.map(({ stepId, simulated }: { stepId: string; simulated: boolean }) => [stepId, simulated]),
    ).to.deep.equal([
      ['city', true],
      ['note', true],
      ['thanks', true],
    ])
    expect(run.steps[0].durationMs).to.equal(10 * MINUTE)
    expect(body.effects.map(({ type }: { type: string }) => type)).to.deep.equal([
      'send_message',
      'add_tag',
      'send_message',
    ])
    expect(body).to.deep.include({ outcome: 'finished', reason: null, diff: null })
  })

  it('advances the virtual clock between dialogue entries', async () => {
    const dialogue = [
      { type: 'message', body: 'hello' },
      { type: 'advance', by: '2h' },
    ]
    const at = '2026-05-01T08:00:00Z'
    const { body } = await simulate(await createDraft(), { dialogue, at })
    expect(body.transcript.at(-1)).to.include({ body: 'Still there?', at: '2026-05-01T09:00:00.000Z' })
    expect(body.finishedAt).to.equal('2026-05-01T10:00:00.000Z')
  })

  it('returns the reason why no run started or what a run waits for', async () => {
    const workflowId = await createDraft()
    const notStarted = await simulate(workflowId, { dialogue: [{ type: 'message', body: 'good day' }] })
    expect(notStarted.body).to.deep.include({ outcome: 'not_started', runs: [] })
    expect(notStarted.body.reason).to.be.a('string')
    const waiting = await simulate(workflowId, { dialogue: [{ type: 'message', body: 'hello' }] })
    expect(waiting.body.outcome).to.equal('waiting')
    expect(waiting.body.reason).to.match(/^Step "city" waits for a reply/)
    expect(waiting.body.runs[0].waiting).to.include({ for: 'reply', stepId: 'city' })
  })

  it('simulates a given definition and rejects an invalid one with workflow_invalid', async () => {
    const workflowId = await createDraft()
    const definition = { ...ASKING, steps: [{ id: 'bye', type: 'send_message', message: { body: 'Bye' } }] }
    const { body } = await simulate(workflowId, { definition, dialogue: [{ type: 'message', body: 'hello' }] })
    expect(body.transcript.at(-1).body).to.equal('Bye')
    const invalidDefinition = { ...ASKING, steps: [{ id: 'x', type: 'moon' }] }
    expect((await simulate(workflowId, { definition: invalidDefinition })).body.code).to.equal('workflow_invalid')
  })

  it('uses the data of a contact with overrides', async () => {
    const contact = await buildContact(workspace, { name: 'Bia' })
    const dialogue = [{ type: 'message', body: 'hello' }]
    const workflowId = await createDraft()
    const stored = await simulate(workflowId, { dialogue, contactId: contact.id })
    expect(stored.body.transcript[1].body).to.equal('Hello Bia, which city?')
    const overridden = await simulate(workflowId, { dialogue, contactId: contact.id, contact: { name: 'Eva' } })
    expect(overridden.body.transcript[1].body).to.equal('Hello Eva, which city?')
  })

  it('uses the conversation of the contact with the latest message', async () => {
    const { contactId, conversationId } = await converse('+351910000077', 'hi there')
    const { id: channelId } = await buildChannel(workspace)
    const at = app.clock.now()
    const otherConversation = {
      tenant_id: workspace.tenantId,
      id: randomUUID(),
      contact_id: contactId,
      channel_id: channelId,
    }
    await app.system
      .db('conversations')
      .insert({ ...otherConversation, status: 'active', created_at: at, updated_at: at })
    const steps = [{ id: 'where', type: 'send_message', message: { body: '{{conversation.id}}' } }]
    const workflowId = await createDraft({ ...ASKING, steps })
    const { body } = await simulate(workflowId, { contactId, dialogue: [{ type: 'message', body: 'hello' }] })
    expect(body.transcript[1].body).to.equal(conversationId)
  })

  it('rejects stepOutputs of an unknown step with 422 unknown_step and the nearest step IDs', async () => {
    const { status, body } = await simulate(await createDraft(), { stepOutputs: { citty: 1 } })
    expect([status, body.code]).to.deep.equal([422, 'unknown_step'])
    expect(body.details.nearest[0]).to.equal('city')
  })

  it('simulates a recorded conversation with its delays and returns an empty diff for an unchanged workflow', async () => {
    const workflowId = await createDraft()
    await publish(workflowId)
    const { conversationId } = await converse('+351910000002', 'hello', 'Faro')
    // Contact data is current, and the recorded run has added a tag.
    const { status, body } = await simulate(workflowId, { conversationId, contact: { tags: [] } })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body.transcript.map((entry: { body: string }) => entry.body)).to.deep.equal([
      'hello',
      'Hello Rui, which city?',
      'Faro',
      'Faro it is',
    ])
    expect(Date.parse(body.transcript[2].at) - Date.parse(body.transcript[0].at)).to.equal(MINUTE)
    expect(body.diff).to.have.length(1)
    expect(body.diff[0].sameAsRecorded, JSON.stringify(body.diff[0])).to.equal(true)
    await unpublish(workflowId)
  })

  it('returns a diff by step between a recorded run and a changed draft', async () => {
    const workflowId = await createDraft()
    await publish(workflowId)
    const { conversationId } = await converse('+351910000003', 'hello', 'Faro')
    const [city, , thanks, nudge] = ASKING.steps
    const better = { id: 'better', type: 'set', values: { 'vars.seen': true } }
    const changed = { ...thanks, message: { body: 'Lovely {{vars.city}}' } }
    const definition = { ...ASKING, steps: [city, better, changed, nudge] }
    const { body } = await simulate(workflowId, { definition, conversationId })
    const [{ sameAsRecorded, recordedRunId, steps }] = body.diff
    expect(sameAsRecorded).to.equal(false)
    expect(recordedRunId).to.be.a('string')
    expect(
      steps.map(({ stepId, change, fields }: Record<string, unknown>) => ({ stepId, change, fields })),
    ).to.deep.equal([
      { stepId: 'city', change: 'same', fields: [] },
      { stepId: 'better', change: 'added', fields: [] },
      { stepId: 'thanks', change: 'changed', fields: ['input'] },
      { stepId: 'note', change: 'missing', fields: [] },
    ])
    await unpublish(workflowId)
  })

  it('starts contact_created workflows only for a simulated contact and rejects an invalid time with 400', async () => {
    const definition = { ...ASKING, triggers: [{ type: 'contact_created' }] }
    const workflowId = await createDraft(definition)
    const dialogue = [{ type: 'message', body: 'hello' }]
    const { body } = await simulate(workflowId, { dialogue })
    expect(body.runs[0].trigger.type).to.equal('contact_created')
    const contact = await buildContact(workspace)
    expect((await simulate(workflowId, { dialogue, contactId: contact.id })).body.outcome).to.equal('not_started')
    expect((await simulate(workflowId, { dialogue, at: '0001-01-01T00:00:00Z' })).status).to.equal(400)
  })

  it('returns 404 for an unknown conversation, contact, version or workflow', async () => {
    const unknownId = '0199c0de-ffff-7000-8000-000000000000'
    const workflowId = await createDraft()
    expect((await simulate(workflowId, { conversationId: unknownId })).status).to.equal(404)
    expect((await simulate(workflowId, { contactId: unknownId, dialogue: [] })).status).to.equal(404)
    expect((await simulate(workflowId, { version: 3 })).status).to.equal(404)
    expect((await simulate(unknownId, {})).status).to.equal(404)
  })

  it('starts an api trigger with input and passes stepOutputs to external steps', async () => {
    const definition = {
      version: 1,
      triggers: [{ type: 'api' }],
      steps: [
        { id: 'price', type: 'http', url: 'https://shop.example/{{input.item}}', saveAs: 'vars.price' },
        { id: 'tell', type: 'send_message', message: { body: '{{input.item}}: {{vars.price.json.total}}' } },
      ],
    }
    const workflowId = await createDraft(definition)
    const start = { trigger: { type: 'api' }, input: { item: 'tea' } }
    const withOutput = await simulate(workflowId, {
      ...start,
      stepOutputs: { price: { status: 200, json: { total: 5 } } },
    })
    expect(withOutput.body.transcript.map(({ body }: { body: string }) => body)).to.deep.equal(['tea: 5'])
    expect(withOutput.body.runs[0].steps[0].input.url).to.equal('https://shop.example/tea')
    const error = { code: 'http_status', message: 'It broke' }
    const failed = await simulate(workflowId, { ...start, stepOutputs: { price: { error } } })
    expect(failed.body.runs[0]).to.deep.include({ status: 'failed', error: { ...error, stepId: 'price' } })
    const withoutOutput = await simulate(workflowId, start)
    expect(withoutOutput.body.runs[0].variables).to.deep.equal({ price: { simulated: true } })
    expect((await simulate(workflowId, { stepOutputs: { tell: 1 } })).body.code).to.equal('not_external_step')
    expect((await simulate(workflowId, { trigger: { type: 'manual' } })).body.outcome).to.equal('not_started')
  })

  it('changes no row of any tenant table', async () => {
    const workflowId = await createDraft()
    await publish(workflowId)
    const { contactId, conversationId } = await converse('+351910000004', 'hello', 'Braga')
    // Otherwise the periodic task could roll the counts up between the two computations.
    await rollUpCounts(app.system)
    const digests = await computeDigests(app)
    const dialogue = [
      { type: 'message', body: 'hello' },
      { type: 'message', body: 'Porto', after: '10m' },
    ]
    expect((await simulate(workflowId, { dialogue, contactId })).body.outcome).to.equal('finished')
    expect((await simulate(workflowId, { conversationId, version: 1 })).body.outcome).to.equal('finished')
    app.clock.advance(2 * HOUR)
    expect(await computeDigests(app)).to.deep.equal(digests)
    await unpublish(workflowId)
  })
})

/** Computes a digest of every table with a tenant_id. */
async function computeDigests(app: TestApp): Promise<Record<string, string | null>> {
  const { rows: tables } = await app.system.db.raw<{ rows: { name: string }[] }>(
    `select table_name as name from information_schema.columns
     where table_schema = 'public' and column_name = 'tenant_id' order by 1`,
  )
  const digests = await Promise.all(
    tables.map(async ({ name }) => {
      const { rows } = await app.system.db.raw<{ rows: { digest: string | null }[] }>(
        `select md5(string_agg(t::text, '|' order by t::text)) as digest from ${name} t`,
      )
      return [name, rows[0]?.digest ?? null] as const
    }),
  )
  return Object.fromEntries(digests)
}
