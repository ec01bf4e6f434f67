import { expect } from 'chai'
import pg from 'pg'
import { ANCHORS } from '../../../src/features/paging/anchors/anchored-list.ts'
import { rollUpListChanges } from '../../../src/features/paging/anchors/roll-up-list-changes.ts'
import { deleteExpired } from '../../../src/features/retention/delete-expired.ts'
import { DAY, HOUR, MINUTE } from '../../../src/platform/time.ts'
import { buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildFilledWorkspace } from '../../support/filled-workspace.ts'
import { createRandom } from '../../support/random.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CONTACTS = 4000
const SPACING = 100
const STEPS = 60

type List = { path: string; idsSql: string }

describe('a page far from both ends of a list', function () {
  this.timeout(180_000)
  const { spacing } = ANCHORS
  let app: TestApp
  let workspace: WorkspaceClient
  let database: pg.Client
  let templateId: string
  let lists: Record<'contacts' | 'conversations' | 'runs' | 'recipients', List>

  before(async () => {
    ANCHORS.spacing = SPACING
    app = await startTestApp()
    database = new pg.Client({ connectionString: app.databaseUrl })
    await database.connect()
  })

  beforeEach(async () => {
    const filled = await buildFilledWorkspace(app, database, CONTACTS)
    const { template, broadcast } = filled
    workspace = filled.workspace
    templateId = template.id
    await workspace.call('POST', `/api/templates/${templateId}/submit`)
    lists = {
      contacts: { path: '/api/contacts?', idsSql: ordered('contacts', 'created_at') },
      conversations: {
        path: '/api/conversations?',
        idsSql: ordered('conversations', `coalesce(last_message_at, '-infinity')`),
      },
      runs: { path: '/api/runs?', idsSql: ordered('runs', 'created_at') },
      recipients: {
        path: `/api/broadcasts/${broadcast.id}/recipients?`,
        idsSql: ordered('broadcast_recipients', 'broadcast_id'),
      },
    }
  })

  after(async () => {
    ANCHORS.spacing = spacing
    await database.end()
    await app.stop()
  })

  function ordered(table: string, value: string): string {
    return `select id from ${table} where tenant_id = ? order by ${value} desc, id desc`
  }

  async function readIds({ idsSql }: List): Promise<string[]> {
    const { rows } = await app.system.db.raw(idsSql, [workspace.tenantId])
    return rows.map(({ id }: { id: string }) => id)
  }

  async function countAnchors(): Promise<Record<string, number>> {
    const { rows } = await database.query<{ list: string; anchors: number }>(
      `select list, count(*)::int as anchors from list_anchors where tenant_id = $1 group by list`,
      [workspace.tenantId],
    )
    return Object.fromEntries(rows.map(({ list, anchors }) => [list, anchors]))
  }

  async function readPage(path: string, offset: number) {
    const page = await workspace.call('GET', `${path}limit=7&offset=${offset}`)
    return { ids: page.items.map(({ id }: { id: string }) => id), total: page.total, next: page.nextCursor }
  }

  /** Compares pages at all depths, in both orders where the list has them, with the rows themselves. */
  async function assertPages() {
    for (const [name, list] of Object.entries(lists)) {
      const ids = await readIds(list)
      const sort = { contacts: 'createdAt', conversations: 'lastMessageAt', runs: 'createdAt' }[name]
      const orders = [
        { path: list.path, expected: ids },
        ...(sort ? [{ path: `${list.path}sort=${sort}&`, expected: ids.toReversed() }] : []),
      ]
      for (const { path, expected } of orders) {
        for (let offset = 1001; offset < ids.length + 100; offset += 193) {
          const page = await readPage(path, offset)
          expect(page.ids, `${path}offset=${offset}`).to.deep.equal(expected.slice(offset, offset + 7))
          expect(page.total).to.equal(ids.length)
        }
      }
    }
  }

  /** Reads far pages, which asks for anchors, and lets a worker add them. */
  async function addAnchors() {
    for (const { path } of Object.values(lists)) await readPage(path, 1500)
    await app.work()
  }

  it('is found by anchors, which a worker adds when such a page is read', async () => {
    await assertPages()
    await addAnchors()
    const anchors = await countAnchors()
    expect(Object.keys(anchors).sort()).to.deep.equal(['contacts', 'conversations', 'recipients', 'runs'])
    for (const number of Object.values(anchors)) expect(number).to.be.greaterThan(15)
    await assertPages()
  })

  it('continues with its cursor', async () => {
    await addAnchors()
    for (const list of Object.values(lists)) {
      const ids = await readIds(list)
      const { next } = await readPage(list.path, 1500)
      const following = await workspace.call('GET', `${list.path}limit=7&cursor=${next}`)
      expect(following.items.map(({ id }: { id: string }) => id)).to.deep.equal(ids.slice(1507, 1514))
    }
  })

  it('is exact when rows left and came before there were anchors', async () => {
    await workspace.call('DELETE', `/api/contacts/${(await readIds(lists.contacts))[2000]}`)
    const sendAt = new Date(app.clock.now().getTime() + MINUTE).toISOString()
    for (const phone of [newPhone(), newPhone()]) {
      await workspace.call('POST', '/api/messages', { to: { phone }, template: { templateId }, sendAt })
    }
    await addAnchors()
    await assertPages()
    await rollUpListChanges(app.system)
    await assertPages()
    app.clock.advance(2 * MINUTE)
    await app.work()
    await assertPages()
  })

  it('has no more anchors than its rows need after most of them were deleted', async () => {
    await addAnchors()
    expect((await countAnchors()).runs).to.be.greaterThan(10)
    const retention = await workspace.call('GET', '/api/workspace/retention')
    await workspace.call('PUT', '/api/workspace/retention', { ...retention, runs: 30 })
    app.clock.advance(31 * DAY)
    await deleteExpired(app.system)
    await rollUpListChanges(app.system)
    expect((await readIds(lists.runs)).length).to.be.lessThan(SPACING)
    expect((await countAnchors()).runs).to.be.at.most(2)
  })

  it('does not wait for a transaction that holds the anchors, and neither do those of other workspaces', async () => {
    await addAnchors()
    const other = await buildWorkspace(app)
    await database.query('begin')
    try {
      await database.query('select from list_anchors where tenant_id = $1 for update', [workspace.tenantId])
      await workspace.call('DELETE', `/api/contacts/${(await readIds(lists.contacts))[2000]}`)
      await sendAsCustomer(other)
      await rollUpListChanges(app.system)
      await assertPages()
      const changed = await app.system.db('list_changes').distinct('tenant_id')
      expect(changed).to.deep.equal([{ tenant_id: workspace.tenantId }])
    } finally {
      await database.query('rollback')
    }
    await rollUpListChanges(app.system)
    await assertPages()
  })

  it('is exact again a day after anchors became wrong', async () => {
    await addAnchors()
    await app.system.db('list_anchors').where({ tenant_id: workspace.tenantId }).increment('count', 1)
    app.clock.advance(25 * HOUR)
    await addAnchors()
    await assertPages()
  })

  for (const seed of [1, 2, 3]) {
    it(`is exact after any sequence of changes, before and after they are rolled up (seed ${seed})`, async () => {
      await addAnchors()
      const random = createRandom(seed)
      const pickId = async (list: List) => {
        const ids = await readIds(list)
        return ids[Math.floor(random() * ids.length)]
      }
      const phones = Array.from({ length: 6 }, () => newPhone())
      const changes = [
        async () => workspace.request('DELETE', `/api/contacts/${await pickId(lists.contacts)}`),
        async () => workspace.request('DELETE', `/api/contacts/${await pickId(lists.contacts)}`),
        async () => {
          const conversationId = await pickId(lists.conversations)
          const { contactId } = await workspace.call('GET', `/api/conversations/${conversationId}`)
          await workspace.request('POST', '/api/sandbox/messages', { contactId, body: 'Hello' })
        },
        async () => sendAsCustomer(workspace, { phone: phones[Math.floor(random() * phones.length)] ?? '' }),
        async () => workspace.call('POST', '/api/messages', { to: { phone: newPhone() }, template: { templateId } }),
        async () => {
          const sendAt = new Date(app.clock.now().getTime() + 30 * MINUTE).toISOString()
          await workspace.call('POST', '/api/messages', {
            to: { phone: newPhone() },
            template: { templateId },
            sendAt,
          })
        },
        async () => app.work(),
        async () => app.clock.advance(Math.floor(random() * 20) * MINUTE),
        async () => rollUpListChanges(app.system),
        async () => readPage(lists.conversations.path, 1100),
      ]
      const pick = () => changes[Math.floor(random() * changes.length)]
      for (let step = 0; step < STEPS; step += 1) {
        await Promise.all([pick()?.(), pick()?.(), pick()?.()])
        if (step % 20 === 0) await assertPages()
      }
      await assertPages()
      await rollUpListChanges(app.system)
      await assertPages()
      const { rows } = await database.query('select 1 from list_changes')
      expect(rows).to.deep.equal([])
    })
  }
})
