import { expect } from 'chai'
import { findOrCreateContacts } from '../../../src/features/contacts/find-or-create-contacts.ts'
import { buildContact, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** Two spellings of one person's number each. */
const SPELLINGS: [string, string][] = [
  ['+5511987654321', '+551187654321'],
  ['+5215512345678', '+525512345678'],
  ['+5491123456789', '+541123456789'],
]

describe('match keys of phone numbers', () => {
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    owner = await buildWorkspace(app)
  })

  after(() => app.stop())

  function findOrCreate(...phones: string[]) {
    return app.system.forTenant(owner.tenantId).transaction((tx) =>
      findOrCreateContacts(
        tx,
        phones.map((phone) => ({ phone })),
      ),
    )
  }

  it('POST /api/contacts returns 409 with the existing ID for another spelling of a Brazilian, Mexican or Argentinian number', async () => {
    for (const pair of SPELLINGS) {
      for (const [first, second] of [pair, pair.toReversed()]) {
        const workspace = await buildWorkspace(app)
        const { id } = await buildContact(workspace, { phone: first })
        const { status, body } = await workspace.request('POST', '/api/contacts', { name: 'N', phone: second })
        expect([status, body.code, body.details.contactId]).to.deep.equal([409, 'contact_exists', id])
      }
    }
  })

  it('PATCH /api/contacts/{contactId} returns 409 for another spelling of a number that another contact has', async () => {
    const { id } = await buildContact(owner, { phone: '+5511987654321' })
    const other = await buildContact(owner)
    const { status, body } = await owner.request('PATCH', `/api/contacts/${other.id}`, { phone: '+551187654321' })
    expect([status, body.details.contactId]).to.deep.equal([409, id])
    const changed = await owner.call('PATCH', `/api/contacts/${id}`, { phone: '+551187654321' })
    expect(changed.phone).to.equal('+551187654321')
  })

  it('GET /api/contacts?phone= finds a contact by another spelling of its number', async () => {
    const { id } = await buildContact(owner, { phone: '+5215512345678' })
    const { items } = await owner.call('GET', `/api/contacts?phone=${encodeURIComponent('+525512345678')}`)
    expect(items.map((contact: { id: string }) => contact.id)).to.deep.equal([id])
  })

  it('Brazilian landlines and mobile numbers that differ by a 9 are different people', async () => {
    const landline = await buildContact(owner, { phone: '+551133334444' })
    const mobile = await buildContact(owner, { phone: '+5511933334444' })
    expect(mobile.id).to.not.equal(landline.id)
  })

  it('finding or creating contacts creates one for all spellings of a number and returns them in order', async () => {
    const existing = await buildContact(owner)
    const phone = newPhone()
    const [first, known, second, other] = await findOrCreate('+5511987654321', existing.phone, '+551187654321', phone)
    expect(known).to.deep.equal({ contactId: existing.id, isCreated: false })
    expect(second).to.deep.equal({ contactId: first?.contactId, isCreated: false })
    expect([first?.isCreated, other?.isCreated]).to.deep.equal([true, true])
    const contact = await owner.call('GET', `/api/contacts/${first?.contactId}`)
    expect(contact).to.include({ phone: '+5511987654321', name: '+5511987654321', country: 'BR', source: 'api' })
  })

  it('concurrent calls that find or create the same people, in any order, create each once', async () => {
    const phones = Array.from({ length: 30 }, newPhone)
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, n) => findOrCreate(...(n % 2 === 0 ? phones : phones.toReversed()))),
    )
    const contactIds = results.map((contacts) => new Set(contacts.map(({ contactId }) => contactId)))
    for (const ids of contactIds) expect(ids).to.have.keys(...(contactIds[0] ?? []))
    expect(results.flat().filter(({ isCreated }) => isCreated)).to.have.length(30)
    expect((await owner.call('GET', '/api/contacts')).total).to.equal(30)
  })
})
