import { expect } from 'chai'
import { buildContact, buildWorkflow, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { say } from '../../support/steps.ts'
import { recordStatements } from '../../support/statements.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Result = { index: number; status: string; id: string | null; error: { code: string; message: string } | null }
type Answer = { results: Result[]; counts: Record<string, number> }

const buildItems = () =>
  Array.from({ length: 500 }, (_, index) => ({
    name: `Contact ${index}`,
    phone: newPhone(),
    tags: [`tag ${index % 5}`],
  }))

describe('POST /api/contacts/bulk', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })
  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })
  after(() => app.stop())

  const bulk = (items: unknown[], options: object = {}): Promise<Answer> =>
    workspace.call('POST', '/api/contacts/bulk', { items, ...options })
  const get = (id: string | null | undefined) => workspace.call('GET', `/api/contacts/${id}`)
  const statuses = ({ results }: Answer) => results.map(({ status }) => status)

  it('creates, updates and leaves contacts as they are, and the same items again change nothing', async () => {
    const existing = await buildContact(workspace, { name: 'Old name', fields: { plan: 'free', since: 2020 } })
    const same = await buildContact(workspace, { name: 'Same', tags: ['vip'] })
    const items = [
      {
        name: 'New',
        phone: newPhone(),
        tags: ['lead', 'vip'],
        fields: { plan: 'gold' },
        consent: { marketing: 'opted_in' },
      },
      { name: 'New name', phone: existing.phone, fields: { plan: 'gold' }, tags: ['vip'], externalId: 'crm-9' },
      { name: 'Same', phone: same.phone, tags: ['VIP'] },
    ]
    const first = await bulk(items)
    expect(statuses(first)).to.deep.equal(['created', 'updated', 'unchanged'])
    expect(first.counts).to.deep.equal({ created: 1, updated: 1, unchanged: 1, failed: 0 })
    const created = await get(first.results[0]?.id)
    expect(created).to.deep.include({ name: 'New', fields: { plan: 'gold' } })
    expect(created.tags.map(({ name }: { name: string }) => name).toSorted()).to.deep.equal(['lead', 'vip'])
    expect(created.consent.marketing).to.equal('opted_in')
    expect(await get(existing.id)).to.deep.include({
      name: 'New name',
      fields: { plan: 'gold', since: 2020 },
      externalId: 'crm-9',
    })
    const before = await app.system.db('contacts').where('tenant_id', workspace.tenantId).orderBy('id')
    const again = await bulk([...items, { phone: created.phone, fields: { none: null, zero: undefined } }])
    expect(again.counts).to.deep.equal({ created: 0, updated: 0, unchanged: 4, failed: 0 })
    expect(await app.system.db('contacts').where('tenant_id', workspace.tenantId).orderBy('id')).to.deep.equal(before)
  })

  it('merges the items of one person, in every spelling of the number', async () => {
    const { results, counts } = await bulk([
      { name: 'Bruna', phone: '+55 11 97000-0022', tags: ['a'] },
      { name: 'Bruna Lima', phone: '+551170000022', tags: ['b'], email: 'bruna@customer.example' },
    ])
    expect(results.map(({ status, id }) => [status, id])).to.deep.equal([
      ['created', results[0]?.id],
      ['created', results[0]?.id],
    ])
    expect(counts).to.deep.equal({ created: 2, updated: 0, unchanged: 0, failed: 0 })
    const contact = await get(results[0]?.id)
    const large = { big: 'x'.repeat(40_000) }
    const phone = newPhone()
    const tooLarge = await bulk([
      { name: 'Large', phone, fields: large },
      { name: 'Large', phone, fields: { more: large.big } },
      { name: 'Tags', phone: newPhone(), tags: Array.from({ length: 50 }, (_, index) => `t${index}`) },
    ])
    expect(tooLarge.results.map(({ status, error }) => [status, error?.code])).to.deep.equal([
      ['failed', 'validation_failed'],
      ['failed', 'validation_failed'],
      ['created', undefined],
    ])
    expect(contact).to.include({ name: 'Bruna Lima', email: 'bruna@customer.example' })
    expect(contact.tags).to.have.length(2)
  })

  it('names all that is wrong with an item, and the contact that has its number or external ID', async () => {
    const { id, phone } = await buildContact(workspace, { externalId: 'taken' })
    const { results } = await bulk([{ name: '', phone: '12', email: 'no address', colour: 'red' }])
    expect(results[0]?.error?.message).to.match(/name .*; phone must .*; email .*; colour is not a field/)
    const taken = await bulk([{ name: 'Taken', phone: newPhone(), externalId: 'taken' }])
    expect(taken.results[0]?.error?.message).to.equal(`The contact ${id} has this external ID`)
    const byId = await bulk([{ name: 'Taken', phone, externalId: 'free' }], { matchBy: 'externalId' })
    expect(byId.results[0]?.error?.message).to.equal(`The contact ${id} has this phone number`)
  })

  it('answers for each item that is wrong, and stores the others', async () => {
    const { id, phone } = await buildContact(workspace, { externalId: 'taken' })
    const { results, counts } = await bulk([
      { name: 'Fine', phone: newPhone() },
      { name: 'No number' },
      { name: '', phone: newPhone() },
      { phone: newPhone() },
      { name: 'Unknown field', phone: newPhone(), colour: 'red' },
      'no object',
      { name: 'Taken', phone: newPhone(), externalId: 'taken' },
      { phone, email: 'no address' },
    ])
    expect(counts).to.deep.equal({ created: 1, updated: 0, unchanged: 0, failed: 7 })
    expect(results.map(({ index }) => index)).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7])
    expect(results.slice(1).map(({ error }) => error?.code)).to.deep.equal([
      ...Array<string>(5).fill('validation_failed'),
      'contact_exists',
      'validation_failed',
    ])
    expect(results[4]?.error?.message).to.equal('colour is not a field of a contact')
    expect((await get(id)).externalId).to.equal('taken')
  })

  it('creates only, or updates only, as the mode says', async () => {
    const { phone } = await buildContact(workspace)
    const items = [
      { name: 'A', phone },
      { name: 'B', phone: newPhone() },
    ]
    const updated = await bulk(items, { mode: 'update' })
    expect(updated.results.map(({ status, error }) => [status, error?.code])).to.deep.equal([
      ['updated', undefined],
      ['failed', 'not_found'],
    ])
    const created = await bulk(items, { mode: 'create' })
    expect(created.results.map(({ status, error }) => [status, error?.code])).to.deep.equal([
      ['failed', 'contact_exists'],
      ['created', undefined],
    ])
  })

  it('matches by external ID and by e-mail address, which several contacts may have', async () => {
    const one = await buildContact(workspace, { externalId: 'crm-1', email: 'one@customer.example' })
    await buildContact(workspace, { email: 'Shared@customer.example' })
    await buildContact(workspace, { email: 'shared@customer.example' })
    const byId = await bulk([{ externalId: 'crm-1', name: 'By ID' }], { matchBy: 'externalId' })
    expect(byId.results[0]).to.include({ status: 'updated', id: one.id })
    const byEmail = await bulk(
      [
        { email: 'ONE@customer.example', externalId: 'crm-2' },
        { email: 'shared@customer.example', name: 'X' },
      ],
      { matchBy: 'email', mode: 'update' },
    )
    expect(byEmail.results.map(({ status, error }) => [status, error?.code])).to.deep.equal([
      ['updated', undefined],
      ['failed', 'contact_ambiguous'],
    ])
    expect((await get(one.id)).externalId).to.equal('crm-2')
    const other = await bulk([{ externalId: 'crm-2', phone: newPhone() }], { matchBy: 'externalId' })
    expect(other.results[0]?.error?.code).to.equal('phone_differs')
  })

  it('starts workflows only if it is asked to', async () => {
    await buildWorkflow(workspace, { triggers: [{ type: 'contact_created' }], steps: [say('hello', 'Hello')] })
    const countRuns = async () => {
      await app.work()
      return (await workspace.call('GET', '/api/runs')).total
    }
    await bulk([{ name: 'Silent', phone: newPhone() }])
    expect(await countRuns()).to.equal(0)
    await bulk([{ name: 'Greeted', phone: newPhone() }], { startWorkflows: true })
    expect(await countRuns()).to.equal(1)
  })

  for (const matchBy of ['phone', 'email', 'externalId'] as const) {
    it(`leaves a contact alone that another call changes or deletes after it was found by ${matchBy}`, async () => {
      const [changed, deleted] = [
        { phone: newPhone(), email: 'ann@example.com', externalId: 'crm-1' },
        { phone: newPhone(), email: 'bob@example.com', externalId: 'crm-2' },
      ]
      const contact = await buildContact(workspace, { name: 'Ann', ...changed })
      const other = await buildContact(workspace, { name: 'Bob', ...deleted })
      const tx = await app.system.db.transaction()
      const later = { phone: newPhone(), email: 'new@example.com', externalId: 'crm-3' }
      const row = { phone: later.phone, phone_key: later.phone, email: later.email, external_id: later.externalId }
      await tx('contacts').where('id', contact.id).update(row)
      await tx('contacts').where('id', other.id).delete()
      const items = [changed, deleted].map((item) => ({
        [matchBy]: item[matchBy],
        name: 'Other',
        fields: { plan: 'x' },
      }))
      const answer = bulk(items, { matchBy, mode: 'update' })
      await waitUntil(async () => (await countLockWaits(app)) > 0)
      await tx.commit()
      const { results } = await answer
      expect(results.map(({ error }) => error?.code)).to.deep.equal(['contact_changed', 'contact_changed'])
      expect(await get(contact.id)).to.deep.include({ ...later, name: 'Ann', fields: {} })
    })
  }

  it('takes an external ID that others take at the same time for one contact only', async () => {
    const contacts = await Promise.all(Array.from({ length: 6 }, () => buildContact(workspace)))
    const answers = await Promise.all(contacts.map(({ phone }) => bulk([{ phone, externalId: 'wanted' }])))
    const outcomes = answers.map(({ results }) => results[0]?.status ?? '')
    expect(outcomes.toSorted()).to.deep.equal([...Array<string>(5).fill('failed'), 'updated'])
    expect(
      await app.system.db('contacts').where({ tenant_id: workspace.tenantId, external_id: 'wanted' }),
    ).to.have.length(1)
  })

  it('reads few of many contacts with one e-mail address, and locks none of them', async () => {
    const email = 'many@customer.example'
    const many = Array.from({ length: 50 }, () => ({ name: 'Many', phone: newPhone(), email }))
    await bulk(many)
    const { results } = await bulk([{ email, name: 'One' }], { matchBy: 'email' })
    expect(results[0]?.error?.code).to.equal('contact_ambiguous')
  })

  it('tells workflows of changed consents and external IDs, once for each contact', async () => {
    const { phone } = await buildContact(workspace)
    await buildWorkflow(workspace, {
      settings: { reentry: 'parallel' },
      triggers: [{ type: 'contact_updated' }],
      steps: [say('noted', 'Noted')],
    })
    await bulk([{ phone, externalId: 'crm-5', name: 'New', consent: { marketing: 'opted_in' } }], {
      startWorkflows: true,
    })
    await app.work()
    expect((await workspace.call('GET', '/api/runs')).total).to.equal(1)
  })

  it('creates each contact once of calls that arrive at the same time', async () => {
    const items = buildItems()
    const fresh = items.map((item) => ({ ...item, phone: newPhone() }))
    const both = await Promise.all([bulk(fresh), bulk(fresh.toReversed())])
    expect(both.map(({ counts }) => counts['failed'])).to.deep.equal([0, 0])
    expect((both[0].counts['created'] ?? 0) + (both[1].counts['created'] ?? 0)).to.equal(500)
    const tooMany = await workspace.request('POST', '/api/contacts/bulk', { items: Array(501).fill(items[0]) })
    expect(tooMany.status).to.equal(400)
  })
})

describe('the statements of POST /api/contacts/bulk', () => {
  let app: TestApp

  before(async () => {
    // Without a worker, whose statements would be counted.
    app = await startTestApp({ ROLES: 'http' })
  })
  after(() => app.stop())

  it('are as many for 500 contacts as for one', async () => {
    const workspace = await buildWorkspace(app)
    const send = (items: object[]): Promise<Answer> => workspace.call('POST', '/api/contacts/bulk', { items })
    await send([{ name: 'First', phone: newPhone(), tags: ['tag 0'] }])
    const one = await recordStatements(() => send([{ name: 'Next', phone: newPhone(), tags: ['tag 0'] }]))
    const answers: Answer[] = []
    const all = await recordStatements(async () => void answers.push(await send(buildItems())))
    expect(answers[0]?.counts).to.deep.equal({ created: 500, updated: 0, unchanged: 0, failed: 0 })
    expect(all.length).to.be.within(one.length, one.length + 5)
  })
})
