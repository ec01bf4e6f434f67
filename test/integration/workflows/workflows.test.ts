import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const GREET = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'any' } }],
  steps: [{ id: 'greet', type: 'send_message', message: { body: 'Hi' } }],
}

describe('workflows', () => {
  let app: TestApp
  let owner: TestSession

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
  })

  after(() => app.stop())

  const call = (method: string, path: string, body?: unknown) =>
    app.rest(method, `/api/workflows${path}`, { session: owner, ...(body === undefined ? {} : { body }) })

  async function create(definition: unknown = GREET): Promise<string> {
    const { status, body } = await call('POST', '', { name: 'W', definition })
    expect(status, JSON.stringify(body)).to.equal(201)
    return body.id
  }

  it('are published with a name alone, with warnings', async () => {
    const { body: created } = await call('POST', '', { name: 'Empty' })
    const { status, body } = await call('POST', `/${created.id}/publish`, {})
    expect([status, body.status, body.version]).to.deep.equal([200, 'published', 1])
    expect(body.warnings.map(({ code }: { code: string }) => code)).to.have.members(['no_triggers', 'no_steps'])
  })

  it('have a JSON Schema that is served', async () => {
    const { status, body } = await call('GET', '/definition-schema')
    expect([status, body.$schema]).to.deep.equal([200, 'https://json-schema.org/draft/2020-12/schema'])
    const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(body)
    expect([accepts(GREET), accepts({ ...GREET, steps: [{ id: 'a', type: 'teleport' }] })]).to.deep.equal([true, false])
  })

  it('get a new version when the draft changed, and none when it did not', async () => {
    const id = await create()
    await call('POST', `/${id}/publish`, {})
    const again = await call('POST', `/${id}/publish`, {})
    expect(again.body.version).to.equal(1)
    const steps = [{ id: 'greet', type: 'send_message', message: { body: 'Hello' } }]
    const changed = await call('PATCH', `/${id}`, { definition: { ...GREET, steps } })
    expect(changed.body).to.include({ version: 1, hasUnpublishedChanges: true, draftRevision: 2 })
    const moved = await call('PATCH', `/${id}`, { definition: { ...GREET, ui: { positions: { greet: [1, 2] } } } })
    expect(moved.body.hasUnpublishedChanges).to.equal(false)
    await call('PATCH', `/${id}`, { definition: { ...GREET, steps } })
    const second = await call('POST', `/${id}/publish`, { note: 'Friendlier' })
    expect(second.body).to.include({ version: 2, hasUnpublishedChanges: false })
    const versions = await call('GET', `/${id}/versions`)
    expect(
      versions.body.items.map(({ version, note }: { version: number; note: string | null }) => [version, note]),
    ).to.deep.equal([
      [2, 'Friendlier'],
      [1, null],
    ])
    const first = await call('GET', `/${id}/versions/1`)
    expect(first.body.definition).to.deep.equal(GREET)
  })

  it('are published once by two who publish at the same time', async () => {
    const id = await create()
    const met = await Promise.all(Array.from({ length: 6 }, () => call('POST', `/${id}/publish`, {})))
    expect(met.map(({ body }) => body.version)).to.deep.equal(Array(6).fill(1))
  })

  it('refuse a change of a draft that somebody else changed meanwhile', async () => {
    const id = await create()
    expect((await call('PATCH', `/${id}`, { definition: GREET, draftRevision: 1 })).status).to.equal(200)
    const late = await call('PATCH', `/${id}`, { definition: GREET, draftRevision: 1 })
    expect([late.status, late.body.code]).to.deep.equal([409, 'version_conflict'])
  })

  it('are refused where they ask for what nothing acts on, and never half obeyed', async () => {
    const definition = {
      ...GREET,
      triggers: [{ type: 'broadcast_replied', tag: 'vip' }],
      settings: { quietHours: { from: '22:00', to: '08:00' } },
    }
    const { body } = await call('POST', '/validate', { definition })
    expect(body.valid).to.equal(false)
    expect(body.errors.map(({ path, code }: { path: string; code: string }) => [path, code])).to.deep.equal([
      ['triggers.0.type', 'not_supported'],
      ['settings.quietHours', 'not_supported'],
    ])
    const { status } = await call('POST', `/${await create(definition)}/publish`, {})
    expect(status).to.equal(422)
  })

  it('start nothing new once they are unpublished', async () => {
    const other = await app.signUp('Other')
    const made = await app.rest('POST', '/api/workflows', { session: other, body: { name: 'W', definition: GREET } })
    await app.rest('POST', `/api/workflows/${made.body.id}/publish`, { session: other, body: {} })
    const paused = await app.rest('POST', `/api/workflows/${made.body.id}/unpublish`, { session: other, body: {} })
    expect(paused.body.status).to.equal('paused')
    await app.rest('POST', '/api/sandbox/messages', { session: other, body: { phone: '+4915112349999', body: 'hi' } })
    await app.work()
    expect((await app.rest('GET', '/api/runs', { session: other })).body.total).to.equal(0)
  })

  it('are deleted only if they were never published', async () => {
    const draft = await create()
    expect((await call('DELETE', `/${draft}`)).status).to.equal(204)
    const published = await create()
    await call('POST', `/${published}/publish`, {})
    const kept = await call('DELETE', `/${published}`)
    expect([kept.status, kept.body.code]).to.deep.equal([409, 'workflow_already_published'])
  })
})
