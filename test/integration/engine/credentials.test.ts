import { expect } from 'chai'
import { buildCredential, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { listRuns, listRunSteps } from '../../support/queries.ts'
import { json, type ReceivedCall, ScriptedServer } from '../../support/scripted-server.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const SECRET = 'canary/secret+of "the" shop=4711'

describe('credentials in calls', () => {
  let app: TestApp
  let server: ScriptedServer
  let other: ScriptedServer
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    server = await ScriptedServer.start()
    other = await ScriptedServer.start()
  })

  after(async () => {
    await server.stop()
    await other.stop()
    await app.stop()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    server.replyWith(json({ price: 1 }))
    other.replyWith(json({ price: 2 }))
  })

  const build = (fields: object = {}) =>
    buildCredential(workspace, { secret: SECRET, allowedHosts: [new URL(server.url).host], ...fields })

  /** Publishes a workflow with one step, which starts with each message. */
  const publish = (fields: object) =>
    buildWorkflow(workspace, {
      steps: [{ id: 'call', saveAs: 'vars.x', ...fields }],
      variables: { x: { type: 'object' } },
    })

  /** Sends a message and returns the only step of the run that it starts. */
  async function runStep() {
    await sendAsCustomer(workspace, { body: 'hello' })
    await app.work()
    const [run = expect.fail('there is no run')] = await listRuns(workspace, '')
    const [step = expect.fail('there is no step')] = await listRunSteps(workspace, run.id)
    return step
  }

  async function call(credentialId: string, fields: object = {}) {
    await publish({ type: 'http', url: `${server.url}/quote?city=Rio`, credentialId, ...fields })
    return runStep()
  }

  /** Lists the tables that contain a text in any column, bytes included. */
  async function listTablesWith(text: string): Promise<string[]> {
    const { rows } = await app.system.db.raw<{ rows: { name: string }[] }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    )
    const spellings = [
      text,
      JSON.stringify(text).slice(1, -1),
      encodeURIComponent(text),
      Buffer.from(text).toString('hex'),
    ]
    const found: string[] = []
    for (const { name } of rows) {
      const { rows: matches } = await app.system.db.raw<{ rows: unknown[] }>(
        `select 1 from ${name} t where exists (select from unnest(?::text[]) s where position(s in t::text) > 0) limit 1`,
        [spellings],
      )
      if (matches.length > 0) found.push(name)
    }
    return found
  }

  const basic = Buffer.from(`shop:${SECRET}`).toString('base64')
  const placements: [placement: object, read: (call: ReceivedCall) => unknown, expected: string][] = [
    [{ type: 'bearer' }, ({ headers }) => headers.authorization, `Bearer ${SECRET}`],
    [{ type: 'basic', username: 'shop' }, ({ headers }) => headers.authorization, `Basic ${basic}`],
    [{ type: 'header', name: 'X-Shop-Key' }, ({ headers }) => headers['x-shop-key'], SECRET],
    [{ type: 'query', name: 'key' }, ({ url }) => new URL(url, server.url).searchParams.get('key'), SECRET],
  ]
  for (const [placement, read, expected] of placements) {
    it(`an http step sends the secret as ${JSON.stringify(placement)} and neither records nor stores it`, async () => {
      server.replyWith((received, response) => {
        const { headers, url } = received
        response.writeHead(200, { 'content-type': 'application/json', 'x-echo': encodeURIComponent(SECRET) })
        response.end(JSON.stringify({ headers, url, [SECRET]: [SECRET] }))
      })
      const { id } = await build({ placement })
      const step = await call(id, { saveAs: 'vars.x' })
      expect(step.status).to.equal('completed')
      expect(server.calls.map(read)).to.deep.equal([expected])
      expect(server.calls[0]?.url).to.include('city=Rio')
      expect(step.input.credentialId).to.equal(id)
      expect(JSON.stringify(step)).to.not.include('canary').and.not.include(basic)
      expect(step.output.json['[redacted]']).to.deep.equal(['[redacted]'])
      expect([await listTablesWith(SECRET), await listTablesWith(basic)]).to.deep.equal([[], []])
    })
  }

  it('a tool sends the secret of its credential and its output does not repeat it', async () => {
    const { id: credentialId } = await build()
    await workspace.call('POST', '/api/tools', {
      name: 'shop.quote',
      title: 'Get a quote',
      description: 'Asks the shop for a price.',
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object' },
      effect: 'read',
      config: { method: 'POST', url: `${server.url}/quote`, credentialId },
    })
    server.replyWith(
      (received, response) => void response.end(JSON.stringify({ echo: received.headers.authorization })),
    )
    await publish({ type: 'tool', tool: 'shop.quote' })
    const step = await runStep()
    expect(server.calls[0]?.headers.authorization).to.equal(`Bearer ${SECRET}`)
    expect(step.output).to.deep.equal({ echo: 'Bearer [redacted]' })
    expect(await listTablesWith(SECRET)).to.deep.equal([])
  })

  it('a redirect to another origin carries neither the header nor the parameter of a credential', async () => {
    for (const placement of [
      { type: 'header', name: 'X-Shop' },
      { type: 'query', name: 'shop' },
    ]) {
      workspace = await buildWorkspace(app)
      server.replyWith(({ url }, response) => response.writeHead(307, { location: other.url + url }).end())
      other.replyWith(json({}))
      const { id } = await build({ placement })
      expect((await call(id)).status).to.equal('completed')
      expect(other.calls).to.have.length(1)
      expect(JSON.stringify(other.calls)).to.include('city=Rio').and.not.include('canary')
    }
  })

  it('a call to a host that the credential does not allow is not made', async () => {
    const { id } = await build()
    const step = await call(id, { url: '{{message.body | replace: "hello", vars.base}}/quote', saveAs: 'vars.x' })
    expect([step.status, step.error.code]).to.deep.equal(['failed', 'invalid_url'])
    workspace = await buildWorkspace(app)
    const { id: credentialId } = await build()
    const refused = await call(credentialId, { url: `${other.url}/quote` })
    expect([refused.status, refused.error.code]).to.deep.equal(['failed', 'credential_host_refused'])
    expect(refused.error.message).to.include(new URL(server.url).host)
    expect(other.calls).to.deep.equal([])
  })

  it('a new secret is used by the next call of a published workflow', async () => {
    const { id } = await build()
    await call(id)
    await workspace.call('PATCH', `/api/credentials/${id}`, { secret: 'another-secret' })
    await runStep()
    expect(server.calls.map(({ headers }) => headers.authorization)).to.deep.equal([
      `Bearer ${SECRET}`,
      'Bearer another-secret',
    ])
    const { lastUsedAt } = await workspace.call('GET', `/api/credentials/${id}`)
    expect(lastUsedAt).to.equal(app.clock.now().toISOString())
  })

  it('a step fails with unknown_credential after its credential was deleted, and makes no call', async () => {
    const { id } = await build()
    const workflow = await publish({ type: 'http', url: `${server.url}/quote`, credentialId: id })
    await app.system.db('http_credentials').where({ tenant_id: workspace.tenantId }).delete()
    const step = await runStep()
    expect([step.status, step.error.code]).to.deep.equal(['failed', 'unknown_credential'])
    expect(server.calls).to.deep.equal([])
    expect(workflow.status).to.equal('published')
  })

  it('a credential of another workspace is not sent by a definition that names it', async () => {
    const { tenantId } = await buildWorkspace(app)
    const { id } = await build()
    await publish({ type: 'http', url: `${server.url}/quote`, credentialId: id })
    await app.system.db('http_credentials').where({ id }).update({ tenant_id: tenantId })
    expect((await runStep()).error.code).to.equal('unknown_credential')
    expect(server.calls).to.deep.equal([])
  })

  it('a simulation shows the call with the ID of its credential and does not read the secret', async () => {
    const { id } = await build()
    const workflow = await publish({ type: 'http', url: `${server.url}/quote`, credentialId: id })
    const result = await workspace.call('POST', `/api/workflows/${workflow.id}/simulate`, {
      dialogue: [{ type: 'message', body: 'hello' }],
    })
    expect(JSON.stringify(result)).to.include(id).and.not.include('canary')
    expect(server.calls).to.deep.equal([])
    expect((await workspace.call('GET', `/api/credentials/${id}`)).lastUsedAt).to.equal(null)
  })
})
