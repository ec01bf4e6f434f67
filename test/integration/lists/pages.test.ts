import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { TOTALS } from '../../../src/features/paging/read-page.ts'
import { buildContact, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const COUNT = 25
/** More than the offset from which a page is walked from the nearer end, and more than are counted with a filter. */
const MANY = 10_050

describe('pages of lists', function () {
  this.timeout(120_000)
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    const workflow = await buildWorkflow(workspace, {
      steps: [{ id: 'a', type: 'send_message', message: { body: 'Hi' } }],
    })
    const group = await workspace.call('POST', '/api/groups', { name: 'Group' })
    for (let index = 0; index < COUNT; index += 1) {
      const contact = await buildContact(workspace, { name: `Person ${index % 7}`, tags: ['vip'] })
      if (index % 3 > 0) await sendAsCustomer(workspace, { contactId: contact.id })
      await workspace.call('POST', `/api/groups/${group.id}/contacts`, { contactIds: [contact.id] })
      await workspace.call('POST', '/api/groups', { name: `Group ${index}` })
      if (index % 2 > 0) app.clock.advance(1000)
    }
    await app.work()
    const phones = Array.from({ length: COUNT }, (_, index) => `+49157200${String(index).padStart(5, '0')}`)
    const template = await workspace.call('POST', '/api/templates', {
      channelId: (await workspace.call('GET', '/api/channels')).items[0].id,
      name: 'offer',
      language: 'en',
      category: 'marketing',
      body: 'Hi',
    })
    const broadcast = await workspace.call('POST', '/api/broadcasts', {
      name: 'Sale',
      templateId: template.id,
      audience: { recipients: phones.map((phone) => ({ phone })) },
    })
    lists = [
      '/api/contacts?',
      '/api/contacts?sort=createdAt&',
      '/api/contacts?sort=name&',
      '/api/contacts?sort=-name&',
      '/api/contacts?tag=vip&',
      `/api/contacts?groupId=${group.id}&`,
      '/api/contacts?q=person&sort=name&',
      '/api/conversations?',
      '/api/conversations?sort=lastMessageAt&',
      '/api/conversations?unread=true&',
      '/api/conversations?windowOpen=true&status=active&',
      '/api/runs?',
      '/api/runs?sort=createdAt&',
      '/api/runs?status=completed,failed&',
      `/api/runs?workflowId=${workflow.id}&`,
      '/api/runs?createdAfter=2020-01-01T00:00:00Z&',
      '/api/groups?',
      `/api/groups/${group.id}/contacts?`,
      '/api/templates?',
      '/api/broadcasts?',
      `/api/broadcasts/${broadcast.id}/recipients?`,
    ]
  })

  after(() => app.stop())

  let lists: string[] = []
  const toIds = (page: { items: { id: string }[] }): string[] => page.items.map(({ id }) => id)

  it('joined by nextCursor hold every item once, in the order of one page', async () => {
    for (const list of lists) {
      const whole = await workspace.call('GET', `${list}limit=100`)
      const ids: string[] = []
      let cursor: string | undefined = ''
      while (cursor !== undefined) {
        const page = await workspace.call('GET', `${list}limit=4${cursor && `&cursor=${cursor}`}`)
        expect(page.total, list).to.equal(whole.total)
        ids.push(...toIds(page))
        cursor = page.nextCursor
      }
      expect(ids, list).to.deep.equal(toIds(whole))
      expect(ids.length, list).to.equal(whole.total)
      expect(whole, list).to.have.all.keys('items', 'total')
    }
  })

  it('by offset are the parts of one page, and past the end empty with the total', async () => {
    for (const list of lists) {
      const whole = await workspace.call('GET', `${list}limit=100`)
      for (const offset of [0, 3, whole.total - 2, whole.total, whole.total + 5]) {
        if (offset < 0) continue
        const page = await workspace.call('GET', `${list}limit=3&offset=${offset}`)
        expect(toIds(page), `${list}offset=${offset}`).to.deep.equal(toIds(whole).slice(offset, offset + 3))
        expect(page.total, list).to.equal(whole.total)
      }
    }
  })

  it('by cursor neither skip nor repeat an item when items are added and removed between them', async () => {
    const other = await buildWorkspace(app)
    const contacts = []
    for (let index = 0; index < 6; index += 1) contacts.push(await buildContact(other))
    const newestFirst = contacts.map(({ id }) => id).toReversed()
    const first = await other.call('GET', '/api/contacts?limit=3')
    await buildContact(other)
    await other.call('DELETE', `/api/contacts/${newestFirst[2]}`)
    const next = await other.call('GET', `/api/contacts?limit=3&cursor=${first.nextCursor}`)
    expect([...toIds(first), ...toIds(next)]).to.deep.equal(newestFirst)
  })

  it('continue by cursor behind the longest names that another program can write', async () => {
    const other = await buildWorkspace(app)
    const names = ['a', '王'.repeat(200), '\u0001'.repeat(200), '👩'.repeat(200), 'zz']
    await app.system.db('contacts').insert(names.map((name) => ({ tenant_id: other.tenantId, id: randomUUID(), name })))
    const found: string[] = []
    let cursor: string | undefined = ''
    while (cursor !== undefined) {
      const page = await other.call('GET', `/api/contacts?sort=name&limit=1${cursor && `&cursor=${cursor}`}`)
      found.push(...page.items.map(({ name }: { name: string }) => name))
      cursor = page.nextCursor
    }
    expect(found).to.have.members(names)
    expect(found).to.have.lengthOf(names.length)
  })

  it('refuse a cursor that is none, or of a list in another order, with 400', async () => {
    const { nextCursor } = await workspace.call('GET', '/api/contacts?limit=1')
    const refused = [
      ['/api/contacts?cursor=nonsense', 'must be the nextCursor of an earlier page'],
      [
        `/api/contacts?cursor=${Buffer.from('["-createdAt","soon","x"]').toString('base64url')}`,
        'must be the nextCursor',
      ],
      [
        `/api/contacts?cursor=${Buffer.from(JSON.stringify(['-createdAt', '0000-01-01T00:00:00Z', randomUUID()])).toString('base64url')}`,
        'must be the nextCursor',
      ],
      [`/api/contacts?sort=name&cursor=${nextCursor}`, 'belongs to a list with another sort'],
      [`/api/runs?sort=createdAt&cursor=${nextCursor}`, 'belongs to a list with another sort'],
    ]
    for (const [path = '', message] of refused) {
      const { status, body } = await workspace.request('GET', path)
      expect(status, path).to.equal(400)
      expect(body.code).to.equal('invalid_pagination')
      expect(body.error).to.include(message)
    }
    expect((await workspace.request('GET', '/api/contacts?sort=phone')).status).to.equal(400)
  })

  it('read with the cursor of another workspace show the own items only', async () => {
    const other = await buildWorkspace(app)
    await buildContact(other)
    const { nextCursor } = await workspace.call('GET', '/api/contacts?limit=1&sort=createdAt')
    const page = await other.call('GET', `/api/contacts?sort=createdAt&cursor=${nextCursor}`)
    expect(page.total).to.equal(1)
    expect(page.items.length).to.be.at.most(1)
  })

  describe('with a total that has a limit', () => {
    const { max } = TOTALS

    before(() => {
      // More than are counted with a page.
      TOTALS.max = 1500
    })

    after(() => {
      TOTALS.max = max
    })

    it('of as many matches as are counted have an exact total, and of more a total that says so', async () => {
      const other = await buildWorkspace(app)
      const insert = (count: number) =>
        app.system.db.raw(
          `insert into dead_letters
             (tenant_id, id, mailbox_kind, mailbox_id, kind, payload, error, attempts, created_at, failed_at)
           select ?, gen_random_uuid(), 'run', gen_random_uuid(), 'timer', '{}',
             '{"name":"Error","code":"unknown","message":"Failed"}', 5, now(), now() from generate_series(1, ?)`,
          [other.tenantId, count],
        )
      await insert(TOTALS.max)
      const exact = await other.call('GET', '/api/dead-letters?limit=1')
      expect(exact).to.include({ total: TOTALS.max }).and.not.have.property('totalCapped')
      await insert(1)
      for (const page of ['limit=1', 'limit=1&offset=1400']) {
        const { total, totalCapped } = await other.call('GET', `/api/dead-letters?${page}`)
        expect([total, totalCapped], page).to.deep.equal([TOTALS.max, true])
      }
    })
  })

  describe('of a workspace with many contacts', () => {
    let large: WorkspaceClient

    before(async () => {
      large = await buildWorkspace(app)
      await app.system.db.raw(
        `insert into contacts (tenant_id, id, name, phone, source, created_at, updated_at)
         select ?, gen_random_uuid(), 'Person ' || n, '+4915' || (10000000 + n), 'import', at, at
         from generate_series(1, ?) n, lateral (select timestamptz '2026-01-01' + n * interval '1 second' as at) t`,
        [large.tenantId, MANY],
      )
    })

    it('are the same walked from either end', async () => {
      for (const offset of [0, 999, 1001, 5000, 5030, MANY - 3, MANY]) {
        const page = await large.call('GET', `/api/contacts?limit=5&offset=${offset}`)
        const expected = Array.from({ length: Math.min(5, MANY - offset) }, (_, n) => `Person ${MANY - offset - n}`)
        expect(page.items.map(({ name }: { name: string }) => name)).to.deep.equal(expected)
        expect(page.total).to.equal(MANY)
        expect(page.nextCursor === undefined).to.equal(offset >= MANY - 5)
      }
    })

    it('continue by cursor from a page that was walked from the end', async () => {
      const { nextCursor } = await large.call('GET', `/api/contacts?limit=5&offset=${MANY - 8}`)
      const { items } = await large.call('GET', `/api/contacts?limit=5&cursor=${nextCursor}`)
      expect(items.map(({ name }: { name: string }) => name)).to.deep.equal(['Person 3', 'Person 2', 'Person 1'])
    })

    it('with a search that finds thousands have the exact total, on the first page as on the last', async () => {
      for (const offset of [0, 40, MANY - 2]) {
        const page = await large.call('GET', `/api/contacts?q=person&limit=2&offset=${offset}`)
        expect(page.total).to.equal(MANY)
        expect(page).to.not.have.property('totalCapped')
        expect(page.items[0].name).to.equal(`Person ${MANY - offset}`)
      }
      const exact = await large.call('GET', '/api/contacts?q=person 999')
      expect(exact.total).to.equal(11)
      expect(exact).to.not.have.property('totalCapped')
    })
  })
})
