import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { type Answer, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { HOUR, MINUTE } from '../../../src/platform/time.ts'

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
  let owner: TestSession

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
  })

  after(() => app.stop())

  async function make(path: string, body: unknown): Promise<Answer['body']> {
    const answer = await app.rest('POST', path, { session: owner, body })
    expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([200, 201])
    return answer.body
  }

  async function draft(definition: unknown = ASKING): Promise<string> {
    return (await make('/api/workflows', { name: 'W', definition })).id
  }

  const simulate = (workflowId: string, body: unknown) =>
    app.rest('POST', `/api/workflows/${workflowId}/simulate`, { session: owner, body })

  /** Somebody who talks to the published workflow, for real. */
  async function talk(phone: string, ...bodies: string[]): Promise<{ contactId: string; conversationId: string }> {
    for (const body of bodies) {
      await make('/api/sandbox/messages', { phone, name: 'Rui', body })
      await app.work()
      app.clock.advance(MINUTE)
    }
    const { body } = await app.rest('GET', `/api/contacts?phone=${encodeURIComponent(phone)}`, { session: owner })
    const [{ id: contactId }] = body.items
    const { body: found } = await app.rest('GET', `/api/conversations?contactId=${contactId}`, { session: owner })
    return { contactId, conversationId: found.items[0].id }
  }

  it('plays the draft against a typed dialogue and answers what would be said, done and recorded', async () => {
    const dialogue = [
      { type: 'message', body: 'hello' },
      { type: 'message', body: 'Porto', after: '10m' },
    ]
    const { status, body } = await simulate(await draft(), { dialogue, contact: { name: 'Ana' } })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body.transcript.map(({ from, body: said }: { from: string; body: string }) => [from, said])).to.deep.equal([
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
    expect(body).to.deep.include({ ended: 'settled', why: null, diff: null })
  })

  it('jumps over the time that passes between what the customer says', async () => {
    const dialogue = [
      { type: 'message', body: 'hello' },
      { type: 'advance', by: '2h' },
    ]
    const at = '2026-05-01T08:00:00Z'
    const { body } = await simulate(await draft(), { dialogue, at })
    expect(body.transcript.at(-1)).to.include({ body: 'Still there?', at: '2026-05-01T09:00:00.000Z' })
    expect(body.endedAt).to.equal('2026-05-01T10:00:00.000Z')
  })

  it('says why nothing was started, and for what a run waits', async () => {
    const workflowId = await draft()
    const unmet = await simulate(workflowId, { dialogue: [{ type: 'message', body: 'good day' }] })
    expect(unmet.body).to.deep.include({ ended: 'not_started', runs: [] })
    expect(unmet.body.why).to.be.a('string')
    const open = await simulate(workflowId, { dialogue: [{ type: 'message', body: 'hello' }] })
    expect(open.body.ended).to.equal('waiting')
    expect(open.body.why).to.match(/^Step "city" waits for a reply/)
    expect(open.body.runs[0].waiting).to.include({ for: 'reply', stepId: 'city' })
  })

  it('plays a definition that is nowhere stored, and refuses one that could not be published', async () => {
    const workflowId = await draft()
    const definition = { ...ASKING, steps: [{ id: 'bye', type: 'send_message', message: { body: 'Bye' } }] }
    const { body } = await simulate(workflowId, { definition, dialogue: [{ type: 'message', body: 'hello' }] })
    expect(body.transcript.at(-1).body).to.equal('Bye')
    const broken = { ...ASKING, steps: [{ id: 'x', type: 'moon' }] }
    expect((await simulate(workflowId, { definition: broken })).body.code).to.equal('workflow_invalid')
  })

  it('reads the facts of a contact, with what is laid over them', async () => {
    const contact = await make('/api/contacts', { name: 'Bia', phone: '+351910000001' })
    const dialogue = [{ type: 'message', body: 'hello' }]
    const workflowId = await draft()
    const real = await simulate(workflowId, { dialogue, contactId: contact.id })
    expect(real.body.transcript[1].body).to.equal('Hello Bia, which city?')
    const over = await simulate(workflowId, { dialogue, contactId: contact.id, contact: { name: 'Eva' } })
    expect(over.body.transcript[1].body).to.equal('Hello Eva, which city?')
  })

  it('takes a contact up in the conversation in which a run would: the one last spoken in', async () => {
    const { contactId, conversationId } = await talk('+351910000077', 'hi there')
    const channel = {
      kind: 'whatsapp',
      phoneNumberId: '12345',
      accessToken: 'a',
      appSecret: 'b',
      verifyToken: 'c'.repeat(8),
    }
    const { id: channelId } = await make('/api/channels', { ...channel, name: 'Shop' })
    const at = app.clock.now()
    const silent = { tenant_id: owner.tenantId, id: randomUUID(), contact_id: contactId, channel_id: channelId }
    await app.system.db('conversations').insert({ ...silent, status: 'active', created_at: at, updated_at: at })
    const steps = [{ id: 'where', type: 'send_message', message: { body: '{{conversation.id}}' } }]
    const workflowId = await draft({ ...ASKING, steps })
    const { body } = await simulate(workflowId, { contactId, dialogue: [{ type: 'message', body: 'hello' }] })
    expect(body.transcript[1].body).to.equal(conversationId)
  })

  it('names the nearest steps where an output is given for none that is there', async () => {
    const { status, body } = await simulate(await draft(), { stepOutputs: { citty: 1 } })
    expect([status, body.code]).to.deep.equal([422, 'unknown_step'])
    expect(body.details.nearest[0]).to.equal('city')
  })

  it('plays a recorded conversation with its real gaps, and finds no difference where nothing changed', async () => {
    const workflowId = await draft()
    await make(`/api/workflows/${workflowId}/publish`, {})
    const { conversationId } = await talk('+351910000002', 'hello', 'Faro')
    // Facts are read as they are now, and by now Rui has the tag.
    const { status, body } = await simulate(workflowId, { conversationId, contact: { tags: [] } })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body.transcript.map(({ body: said }: { body: string }) => said)).to.deep.equal([
      'hello',
      'Hello Rui, which city?',
      'Faro',
      'Faro it is',
    ])
    expect(Date.parse(body.transcript[2].at) - Date.parse(body.transcript[0].at)).to.equal(MINUTE)
    expect(body.diff).to.have.length(1)
    expect(body.diff[0].same, JSON.stringify(body.diff[0])).to.equal(true)
    await make(`/api/workflows/${workflowId}/unpublish`, {})
  })

  it('tells, step by step, what a changed draft would have done otherwise', async () => {
    const workflowId = await draft()
    await make(`/api/workflows/${workflowId}/publish`, {})
    const { conversationId } = await talk('+351910000003', 'hello', 'Faro')
    const [city, , thanks, nudge] = ASKING.steps
    const better = { id: 'better', type: 'set', values: { 'vars.seen': true } }
    const changed = { ...thanks, message: { body: 'Lovely {{vars.city}}' } }
    const definition = { ...ASKING, steps: [city, better, changed, nudge] }
    const { body } = await simulate(workflowId, { definition, conversationId })
    const [{ same, recordedRunId, steps }] = body.diff
    expect(same).to.equal(false)
    expect(recordedRunId).to.be.a('string')
    expect(
      steps.map(({ stepId, change, fields }: Record<string, unknown>) => ({ stepId, change, fields })),
    ).to.deep.equal([
      { stepId: 'city', change: 'same', fields: [] },
      { stepId: 'better', change: 'added', fields: [] },
      { stepId: 'thanks', change: 'changed', fields: ['input'] },
      { stepId: 'note', change: 'missing', fields: [] },
    ])
    await make(`/api/workflows/${workflowId}/unpublish`, {})
  })

  it('takes somebody made up for new, and refuses a clock that cannot be', async () => {
    const definition = { ...ASKING, triggers: [{ type: 'contact_created' }] }
    const workflowId = await draft(definition)
    const dialogue = [{ type: 'message', body: 'hello' }]
    const { body } = await simulate(workflowId, { dialogue })
    expect(body.runs[0].trigger.type).to.equal('contact_created')
    const contact = await make('/api/contacts', { name: 'Zé', phone: '+351910000009' })
    expect((await simulate(workflowId, { dialogue, contactId: contact.id })).body.ended).to.equal('not_started')
    expect((await simulate(workflowId, { dialogue, at: '0001-01-01T00:00:00Z' })).status).to.equal(400)
  })

  it('finds no conversation and no contact that are not there', async () => {
    const nobodys = '0199c0de-ffff-7000-8000-000000000000'
    const workflowId = await draft()
    expect((await simulate(workflowId, { conversationId: nobodys })).status).to.equal(404)
    expect((await simulate(workflowId, { contactId: nobodys, dialogue: [] })).status).to.equal(404)
    expect((await simulate(workflowId, { version: 3 })).status).to.equal(404)
    expect((await simulate(nobodys, {})).status).to.equal(404)
  })

  it('starts a workflow on purpose, and gives its steps what the outside would answer', async () => {
    const definition = {
      version: 1,
      triggers: [{ type: 'api' }],
      steps: [
        { id: 'price', type: 'http', url: 'https://shop.example/{{input.item}}', saveAs: 'vars.price' },
        { id: 'tell', type: 'send_message', message: { body: '{{input.item}}: {{vars.price.json.total}}' } },
      ],
    }
    const workflowId = await draft(definition)
    const given = { trigger: { type: 'api' }, input: { item: 'tea' } }
    const told = await simulate(workflowId, { ...given, stepOutputs: { price: { status: 200, json: { total: 5 } } } })
    expect(told.body.transcript.map(({ body }: { body: string }) => body)).to.deep.equal(['tea: 5'])
    expect(told.body.runs[0].steps[0].input.url).to.equal('https://shop.example/tea')
    const error = { code: 'http_status', message: 'It broke' }
    const failed = await simulate(workflowId, { ...given, stepOutputs: { price: { error } } })
    expect(failed.body.runs[0]).to.deep.include({ status: 'failed', error: { ...error, stepId: 'price' } })
    const bare = await simulate(workflowId, given)
    expect(bare.body.runs[0].variables).to.deep.equal({ price: { simulated: true } })
    expect((await simulate(workflowId, { stepOutputs: { tell: 1 } })).body.code).to.equal('not_external_step')
    expect((await simulate(workflowId, { trigger: { type: 'manual' } })).body.ended).to.equal('not_started')
  })

  it('changes no row of any table of the tenant', async () => {
    const workflowId = await draft()
    await make(`/api/workflows/${workflowId}/publish`, {})
    const { contactId, conversationId } = await talk('+351910000004', 'hello', 'Braga')
    const before = await rowsOf(app)
    const dialogue = [
      { type: 'message', body: 'hello' },
      { type: 'message', body: 'Porto', after: '10m' },
    ]
    expect((await simulate(workflowId, { dialogue, contactId })).body.ended).to.equal('settled')
    expect((await simulate(workflowId, { conversationId, version: 1 })).body.ended).to.equal('settled')
    app.clock.advance(2 * HOUR)
    expect(await rowsOf(app)).to.deep.equal(before)
    await make(`/api/workflows/${workflowId}/unpublish`, {})
  })
})

/** A digest of every table that belongs to tenants. */
async function rowsOf(app: TestApp): Promise<Record<string, string | null>> {
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
