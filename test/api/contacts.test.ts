import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../support/app.ts'

describe('contacts', () => {
  let app: TestApp
  let owner: TestSession

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
  })

  after(() => app.stop())

  it('keeps a contact under its number in international form', async () => {
    const { status, body } = await app.rest('POST', '/api/contacts', {
      session: owner,
      body: { name: '  Ana Souza ', phone: '+55 (11) 91234-5678', tags: ['VIP', 'vip'] },
    })
    expect(status).to.equal(201)
    expect(body).to.include({ name: 'Ana Souza', phone: '+5511912345678', country: 'BR', source: 'api', email: null })
    expect(body.tags.map((tag: { name: string }) => tag.name)).to.deep.equal(['VIP'])
    const again = await app.client(owner).contacts.get.query({ contactId: body.id })
    expect(again.createdAt).to.deep.equal(app.clock.now())
  })
})
