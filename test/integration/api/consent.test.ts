import { expect } from 'chai'
import { HOUR } from '../../../src/platform/time.ts'
import { buildContact, buildMember, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Entry = { purpose: string; state: string; source: string; actor: { type: string }; at: string }

describe('consent API', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let contactId: string

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
  })

  beforeEach(async () => {
    contactId = (await buildContact(owner)).id
  })

  after(() => app.stop())

  const path = () => `/api/contacts/${contactId}/consent`
  const record = (consent: object) => owner.call('POST', path(), { purpose: 'marketing', ...consent })
  const listEntries = async (): Promise<Entry[]> => (await owner.call('GET', path())).items

  it('POST /api/contacts/{contactId}/consent records who changed which consent, how, when and by which text', async () => {
    const { status, body } = await owner.request('POST', path(), {
      purpose: 'marketing',
      state: 'opted_in',
      text: 'Send me offers',
      source: 'manual',
    })
    expect(status).to.equal(201)
    expect(body).to.include({ contactId, marketing: 'opted_in', service: 'unknown', total: 1 })
    const at = app.clock.now().toISOString()
    expect(body.items[0]).to.deep.include({ purpose: 'marketing', state: 'opted_in', source: 'manual', at })
    expect(body.items[0]).to.include({ text: 'Send me offers', keyword: null, channelId: null, messageId: null })
    expect(body.items[0].actor).to.have.property('type', 'user')
    const { consent } = await owner.call('GET', `/api/contacts/${contactId}`)
    expect(consent).to.deep.equal({ marketing: 'opted_in', source: 'manual', at })
  })

  it('GET /api/contacts/{contactId}/consent returns the state of each purpose at a time in the past', async () => {
    const start = app.clock.now()
    await record({ state: 'opted_in' })
    app.clock.advance(HOUR)
    await record({ state: 'opted_out' })
    await record({ purpose: 'service', state: 'opted_out' })
    app.clock.advance(HOUR)
    const at = async (time: number) => owner.call('GET', `${path()}?at=${new Date(time).toISOString()}`)
    expect(await at(start.getTime() - 1)).to.include({ marketing: 'unknown', service: 'unknown', total: 0 })
    expect(await at(start.getTime())).to.include({ marketing: 'opted_in', service: 'unknown', total: 1 })
    expect(await at(start.getTime() + HOUR)).to.include({ marketing: 'opted_out', service: 'opted_out', total: 3 })
    const now = await owner.call('GET', `${path()}?limit=2&offset=1`)
    expect(now).to.include({ marketing: 'opted_out', service: 'opted_out', total: 3 })
    expect(now.items.map(({ state }: Entry) => state)).to.deep.equal(['opted_out', 'opted_in'])
  })

  it('POST /api/contacts/{contactId}/consent adds an entry for another text although the state stays the same', async () => {
    await record({ state: 'opted_in', text: 'Offers' })
    expect(await record({ state: 'opted_in', text: 'Offers and news' })).to.include({ total: 2, marketing: 'opted_in' })
  })

  it('creating and updating a contact with a consent writes entries, and one without a change writes none', async () => {
    const created = await buildContact(owner, { consent: { marketing: 'opted_in' } })
    expect(created.consent).to.include({ marketing: 'opted_in', source: 'api' })
    contactId = created.id
    const update = (marketing: string) => owner.call('PATCH', `/api/contacts/${contactId}`, { consent: { marketing } })
    await update('opted_out')
    await update('opted_out')
    await update('unknown')
    expect((await listEntries()).map(({ state }) => state)).to.deep.equal(['unknown', 'opted_out', 'opted_in'])
    await owner.call('PATCH', `/api/contacts/${contactId}`, { name: 'Other' })
    expect(await listEntries()).to.have.length(3)
  })

  it('the step set_consent writes an entry with its workflow', async () => {
    const steps = [{ id: 'c', type: 'set_consent', marketing: 'opted_in' }]
    const workflow = await buildWorkflow(owner, { steps })
    await sendAsCustomer(owner, { contactId })
    await app.work()
    const [entry] = await listEntries()
    expect(entry).to.deep.include({ source: 'workflow', actor: { type: 'workflow', id: workflow.id, name: null } })
    await owner.call('POST', `/api/workflows/${workflow.id}/archive`, {})
  })

  it('the step set_consent opts out of service, which stops what is automated and leaves replies of members', async () => {
    const workflow = await buildWorkflow(owner, {
      steps: [
        { id: 'out', type: 'set_consent', marketing: 'opted_in', service: 'opted_out' },
        { id: 'goodbye', type: 'send_message', message: { body: 'Goodbye' } },
      ],
    })
    const { conversationId } = await sendAsCustomer(owner, { contactId })
    await app.work()
    const entries = await listEntries()
    expect(entries.map(({ purpose, state }) => `${purpose} ${state}`)).to.have.members([
      'marketing opted_in',
      'service opted_out',
    ])
    const [run] = (await owner.call('GET', `/api/runs?workflowId=${workflow.id}`)).items
    const { steps } = await owner.call('GET', `/api/runs/${run.id}/steps`)
    expect(steps.at(-1).error.code).to.equal('contact_opted_out')
    const reply = await owner.request('POST', `/api/conversations/${conversationId}/messages`, { body: 'As you wish' })
    expect(reply.status).to.equal(201)
    await owner.call('POST', `/api/workflows/${workflow.id}/archive`, {})
  })

  it('the step set_consent without a purpose is rejected', async () => {
    const definition = { version: 1, triggers: [], steps: [{ id: 'c', type: 'set_consent' }] }
    const { errors } = await owner.call('POST', '/api/workflows/validate', { definition })
    expect(errors[0]).to.include({ path: 'steps.0.marketing' })
  })

  it('concurrent changes of one consent to the same state write one entry', async () => {
    const update = () => owner.request('PATCH', `/api/contacts/${contactId}`, { consent: { marketing: 'opted_out' } })
    await Promise.all(Array.from({ length: 8 }, update))
    expect(await listEntries()).to.have.length(1)
  })

  it('entries are deleted with their contact', async () => {
    await record({ state: 'opted_in' })
    await owner.request('DELETE', `/api/contacts/${contactId}`)
    expect(await app.system.db('consent_entries').where({ contact_id: contactId })).to.deep.equal([])
    expect((await owner.request('GET', path())).status).to.equal(404)
  })

  it('consents can be read by viewers but recorded only by agents and above', async () => {
    const viewer = await buildMember(owner, 'viewer')
    expect((await viewer.request('GET', path())).status).to.equal(200)
    const consent = { purpose: 'marketing', state: 'opted_in' }
    expect((await viewer.request('POST', path(), consent)).status).to.equal(403)
  })
})
