import { expect } from 'chai'
import { buildContact, buildTemplate, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** Numbers as people write them, and the same numbers as they are dialed from abroad. */
const WRITTEN: [string, string][] = [
  ['+44 (0)20 7946 0018', '+442079460018'],
  ['+49(0)151–123.456-78', '+4915112345678'],
  ['+(41) (0) 44 668 18 00', '+41446681800'],
  ['\u202a+34 600\u2011111\u2011222\u202c', '+34600111222'],
  ['+39 (0)6 1234 5678', '+390612345678'],
  ['+225 (0)7 12 34 56 78', '+2250712345678'],
]

describe('phone numbers with punctuation', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  it('POST and PATCH of a contact keep the zero in parentheses only where it is dialed from abroad', async () => {
    for (const [written, phone] of WRITTEN) {
      const created = await buildContact(workspace, { phone: written })
      expect(created.phone, written).to.equal(phone)
      await workspace.call('PATCH', `/api/contacts/${created.id}`, { phone: newPhone() })
      const changed = await workspace.call('PATCH', `/api/contacts/${created.id}`, { phone: written })
      expect(changed.phone, written).to.equal(phone)
    }
  })

  it('GET /api/contacts finds a contact by its number with the zero, as phone and as q', async () => {
    const { id } = await buildContact(workspace, { phone: '+442079460018' })
    for (const field of ['phone', 'q']) {
      const query = new URLSearchParams({ [field]: '+44 (0)20 7946 0018' })
      const { items } = await workspace.call('GET', `/api/contacts?${query}`)
      expect(items, field).to.have.length(1)
      expect(items[0].id, field).to.equal(id)
    }
  })

  it('POST /api/messages writes to the contact that has the number without the zero', async () => {
    const { id } = await buildContact(workspace, { phone: '+442079460018' })
    const { id: templateId } = await buildTemplate(workspace)
    const message = { to: { phone: '+44 (0)20 7946 0018' }, template: { templateId } }
    expect((await workspace.call('POST', '/api/messages', message)).contactId).to.equal(id)
  })

  it('recipients of a broadcast are sent it at the number without the zero', async () => {
    const { id: templateId } = await buildTemplate(workspace)
    const recipients = [{ phone: '+44 (0)20 7946 0018' }, { phone: '+442079460018' }]
    const broadcast = { name: 'Sale', templateId, audience: { recipients } }
    const { id } = await workspace.call('POST', '/api/broadcasts', broadcast)
    await workspace.call('POST', `/api/broadcasts/${id}/send`, {})
    await app.work()
    const { items } = await workspace.call('GET', `/api/broadcasts/${id}/recipients`)
    expect(items.map(({ address }: { address: string }) => address)).to.deep.equal(['+442079460018'])
  })
})
