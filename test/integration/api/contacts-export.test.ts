import { expect } from 'chai'
import { buildContact, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildCsv, importCsv } from '../../support/imports.ts'
import { recordStatements } from '../../support/statements.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('GET /api/contacts/export', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })
  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })
  after(() => app.stop())

  async function read(query = '', accept?: string, client = workspace): Promise<{ type: string; lines: string[] }> {
    const { cookie, tenantId } = client
    const response = await fetch(`${app.url}/api/contacts/export${query}`, {
      headers: { cookie, 'x-tenant-id': tenantId, ...(accept ? { accept } : {}) },
    })
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    return { type: response.headers.get('content-type') ?? '', lines: text.split(/\r?\n/).filter(Boolean) }
  }

  it('returns all contacts as CSV, which an import into another workspace reads', async () => {
    await buildContact(workspace, {
      name: '=HYPERLINK("x")',
      phone: newPhone(),
      email: 'a@customer.example',
      tags: ['vip', 'lead'],
      fields: { city: 'São Paulo', 'a,b': [1, { c: '"' }] },
      externalId: '-1+1',
      language: 'pt-BR',
      timezone: 'America/Recife',
    })
    await buildContact(workspace, { name: '\'Quoted, "name"', phone: newPhone() })
    const { type, lines } = await read()
    expect(type).to.equal('text/csv; charset=utf-8')
    expect(lines).to.have.length(3)
    expect(lines[0]).to.match(/^id,name,phone,email,/)
    expect(lines[1]).to.include(`"'=HYPERLINK(""x"")"`).and.include("'-1+1")
    const other = await buildWorkspace(app)
    const { body } = await importCsv(other, lines.join('\r\n'))
    await app.work()
    expect((await other.call('GET', `/api/jobs/${body.id}`)).counts).to.deep.include({ created: 2, failed: 0 })
    const listed = async (client: WorkspaceClient) =>
      (await client.call('GET', '/api/contacts?sort=name')).items.map((contact: Record<string, unknown>) => ({
        ...contact,
        id: null,
        source: null,
        createdAt: null,
        updatedAt: null,
        tags: (contact['tags'] as { name: string }[]).map(({ name }) => name),
      }))
    expect(await listed(other)).to.deep.equal(await listed(workspace))
  })

  it('returns the items of the list as NDJSON, and only those that a filter finds', async () => {
    const vip = await buildContact(workspace, { name: 'Ana', tags: ['vip'] })
    const other = await buildContact(workspace, { name: 'Bia' })
    const group = await workspace.call('POST', '/api/groups', { name: 'G' })
    await workspace.call('POST', `/api/groups/${group.id}/contacts`, { contactIds: [other.id] })
    const { type, lines } = await read('', 'application/x-ndjson')
    expect(type).to.equal('application/x-ndjson; charset=utf-8')
    const { items } = await workspace.call('GET', '/api/contacts?sort=createdAt')
    expect(lines.map((line): unknown => JSON.parse(line))).to.deep.equal(items)
    const cases: [string, string[]][] = [
      ['?tag=VIP', [vip.id]],
      ['?q=bia', [other.id]],
      [`?phone=${encodeURIComponent(vip.phone)}`, [vip.id]],
      [`?groupId=${group.id}`, [other.id]],
      [`?groupId=${vip.id}`, []],
      [`?groupId=x`, []],
      [`?tag=vip&groupId=${group.id}`, []],
    ]
    for (const [query, ids] of cases) {
      const found = await read(query, 'application/x-ndjson')
      expect(
        found.lines.map((line) => JSON.parse(line).id),
        query,
      ).to.deep.equal(ids)
    }
    const foreign = await buildWorkspace(app)
    expect((await read('', undefined, foreign)).lines).to.have.length(1)
    for (const [query, accept, message] of [
      ['?limit=1', 'text/csv', /limit is not a field/],
      ['', 'application/pdf', /Accept must be text\/csv or/],
    ] as const) {
      const { status, body } = await workspace.request('GET', `/api/contacts/export${query}`, undefined, { accept })
      expect([status, message.test(body.error)], body.error).to.deep.equal([400, true])
    }
  })

  it('reads portions in statements of their own', async () => {
    await importCsv(workspace, buildCsv(450))
    await app.work()
    const statements = await recordStatements(async () => {
      expect((await read()).lines).to.have.length(451)
    })
    const reading = statements.filter(({ text }) => text.includes('exportContacts'))
    expect(reading).to.have.length(3)
  })
})
