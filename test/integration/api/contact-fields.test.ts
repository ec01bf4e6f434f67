import { expect } from 'chai'
import { buildContact, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { Customer } from '../../support/customer.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const KB = 1024

describe('custom fields of a contact', () => {
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
  })

  after(() => app.stop())

  it('have at most 64 KB as JSON when the contact is created', async () => {
    const create = (notes: string) =>
      owner.request('POST', '/api/contacts', { name: 'N', phone: newPhone(), fields: { notes } })
    const overhead = JSON.stringify({ notes: '' }).length
    expect((await create('x'.repeat(64 * KB - overhead))).status).to.equal(201)
    const { status, body } = await create('x'.repeat(64 * KB - overhead + 1))
    expect([status, body.code]).to.deep.equal([400, 'validation_failed'])
    expect(body.details).to.deep.equal([{ path: 'fields', message: 'must have at most 64 KB as JSON' }])
    expect((await create('ü'.repeat(33 * KB))).status).to.equal(400)
  })

  it('have at most 64 KB together with those that a change leaves as they are', async () => {
    const { id } = await buildContact(owner, { fields: { a: 'x'.repeat(40 * KB) } })
    const change = (fields: object) => owner.request('PATCH', `/api/contacts/${id}`, { fields })
    const b = 'y'.repeat(40 * KB)
    const { status, body } = await change({ b })
    expect([status, body.code, body.details[0].path]).to.deep.equal([400, 'validation_failed', 'fields'])
    expect((await owner.call('GET', `/api/contacts/${id}`)).fields).to.have.all.keys('a')
    expect((await change({ a: null, b })).body.fields).to.deep.equal({ b })
  })

  it('that are larger already may shrink, but not grow', async () => {
    const { id } = await buildContact(owner)
    const fields = { a: 'x'.repeat(80 * KB), b: 'y'.repeat(80 * KB) }
    await app.system.forTenant(owner.tenantId).sql('enlargeFields')`
      update contacts set fields = ${JSON.stringify(fields)}::jsonb where tenant_id = ${owner.tenantId} and id = ${id}`
    const change = (changes: object) => owner.request('PATCH', `/api/contacts/${id}`, { fields: changes })
    expect((await change({ c: 1 })).status).to.equal(400)
    expect((await change({ a: null })).body.fields).to.have.all.keys('b')
  })

  it('have at most 64 KB when workflows add to them: the step fails otherwise', async () => {
    const values = { fields: { b: 'y'.repeat(40 * KB) } }
    const customer = await Customer.create(app, [{ id: 'u', type: 'update_contact', values }], (one) =>
      one.call('PATCH', `/contacts/${one.contactId}`, { fields: { a: 'x'.repeat(40 * KB) } }),
    )
    await customer.send()
    await app.work()
    const { status, steps } = await customer.run()
    expect([status, steps[0].error.code]).to.deep.equal(['failed', 'value_too_large'])
    expect((await customer.contact()).fields).to.have.all.keys('a')
  })
})
