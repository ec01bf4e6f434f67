import { expect } from 'chai'
import { sqlState } from '../../../src/platform/database/database.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CHECK_VIOLATION = '23514'
/** Too long for a cursor, and short enough for an index, as it is compressed. */
const LONG_NAME = 'Ana '.repeat(5000)
const NO_OBJECTS = ['null', '"text"', '[1]', '7']

describe('contacts that other programs write', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const insert = (row: { name: string; fields?: string }) =>
    app.system.db('contacts').insert({ tenant_id: workspace.tenantId, ...row })

  const names = async () => {
    const found: string[] = []
    let cursor = ''
    do {
      const page = await workspace.call('GET', `/api/contacts?sort=name&limit=1${cursor}`)
      found.push(...page.items.map(({ name }: { name: string }) => name))
      cursor = page.nextCursor ? `&cursor=${page.nextCursor}` : ''
    } while (cursor)
    return found
  }

  it('are refused by the database if their fields are no object', async () => {
    for (const fields of NO_OBJECTS)
      expect(await insert({ name: 'Ana', fields }).then(() => 'stored', sqlState), fields).to.equal(CHECK_VIOLATION)
    await insert({ name: 'Ana', fields: '{"plan":"pro"}' })
    const { items } = await workspace.call('GET', '/api/contacts')
    expect(items.map(({ fields }: { fields: unknown }) => fields)).to.deep.equal([{ plan: 'pro' }])
  })

  it('are refused by the database if a cursor of the list by name would be too long', async () => {
    expect(await insert({ name: LONG_NAME }).then(() => 'stored', sqlState)).to.equal(CHECK_VIOLATION)
    const longest = '👩'.repeat(200)
    await insert({ name: longest })
    await insert({ name: longest })
    expect(await names()).to.deep.equal([longest, longest])
  })
})
