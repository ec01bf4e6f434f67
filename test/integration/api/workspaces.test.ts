import { expect } from 'chai'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FOR_BUSY_MACHINES } from '../../support/parley-process.ts'
import { WorkspaceClient } from '../../support/workspace-client.ts'

const PATH = '/api/workspaces'

describe('POST /api/workspaces', () => {
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    // Requests of one user wait for each other.
    app = await startTestApp(FOR_BUSY_MACHINES)
  })

  beforeEach(async () => {
    owner = await buildWorkspace(app)
  })

  after(() => app.stop())

  it('creates a workspace that its creator owns and can use at once, without x-tenant-id', async () => {
    const { status, body } = await app.rest('POST', PATH, {
      headers: { cookie: owner.cookie },
      body: { name: 'Second', timezone: 'Europe/Lisbon', country: 'PT' },
    })
    expect(status).to.equal(201)
    expect(body).to.include({ name: 'Second', timezone: 'Europe/Lisbon', language: null, country: 'PT' })
    const second = new WorkspaceClient(app, { ...owner, tenantId: body.id })
    expect(await second.call('GET', '/api/workspace')).to.deep.equal(body)
    expect((await second.call('GET', '/api/channels')).items).to.have.length(1)
    const { workspaces } = await owner.call('GET', '/api/auth/get-session')
    expect(workspaces).to.deep.include({ id: body.id, name: 'Second', role: 'owner' })
  })

  it('creates nothing for a name with a line break, an unknown time zone or nobody', async () => {
    for (const body of [{ name: 'A\nB' }, { name: 'A', timezone: 'Mars/Base' }, {}]) {
      expect((await owner.request('POST', PATH, body)).body).to.include({ code: 'validation_failed' })
    }
    expect((await app.rest('POST', PATH, { body: { name: 'A' } })).status).to.equal(401)
    const { workspaces } = await owner.call('GET', '/api/auth/get-session')
    expect(workspaces).to.have.length(1)
  })

  it('returns 422 to the owner of 20 workspaces, also for concurrent requests', async () => {
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, index) => owner.request('POST', PATH, { name: `W${index}` })),
    )
    expect(answers.filter(({ status }) => status === 201)).to.have.length(19)
    const refused = answers.filter(({ status }) => status === 422)
    expect(refused.map(({ body }) => body.code)).to.deep.equal(Array.from({ length: 5 }, () => 'too_many_workspaces'))
  })
})
