import { expect } from 'chai'
import pg from 'pg'
import { HOUR, MINUTE } from '../../../src/platform/time.ts'
import { newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildFilledWorkspace } from '../../support/filled-workspace.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { CITUS_URL } from '../../support/postgres.ts'
import { IS_SHOWN_RUN } from '../../support/queries.ts'
import { createRandom } from '../../support/random.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** Every second contact has a conversation: all lists are longer than the offset that is walked from the nearer end. */
const CONTACTS = 5000
const LIMIT = 7
/** Rows that a change concerns. */
const SOME = 40
const STEPS = 30

type List = {
  path: string
  table: string
  /** Value that orders the rows, if it is not the ID alone. */
  value?: string
  /** Sort with the oldest row first. */
  ascending?: string
  /** Triggers keep the number of rows, so that the total is exact whoever writes. */
  isCounted?: boolean
  condition?: string
}

describe('a page far from the beginning of a list', function () {
  this.timeout(180_000)
  let app: TestApp
  let workspace: WorkspaceClient
  let tenantId: string
  let templateId: string
  let psql: pg.Client
  let lists: Record<'contacts' | 'conversations' | 'runs' | 'recipients', List>
  let filtered: List[]

  before(async () => {
    app = await startTestApp()
    psql = new pg.Client({ connectionString: app.databaseUrl })
    await psql.connect()
  })

  beforeEach(async () => {
    const { template, broadcast, ...filled } = await buildFilledWorkspace(app, psql, CONTACTS)
    workspace = filled.workspace
    tenantId = workspace.tenantId
    templateId = template.id
    await workspace.call('POST', `/api/templates/${templateId}/submit`)
    const contacts = { path: '/api/contacts?', table: 'contacts', value: 'created_at' }
    const runs = { path: '/api/runs?', table: 'runs', value: 'created_at', ascending: 'createdAt', isCounted: true }
    const recipients = {
      path: `/api/broadcasts/${broadcast.id}/recipients?`,
      table: 'broadcast_recipients',
      isCounted: true,
    }
    lists = {
      contacts: { ...contacts, ascending: 'createdAt', isCounted: true },
      conversations: {
        path: '/api/conversations?',
        table: 'conversations',
        value: `coalesce(last_message_at, '-infinity')`,
        ascending: 'lastMessageAt',
        isCounted: true,
      },
      runs,
      recipients,
    }
    const isCommon = `id in (select contact_id from contact_tags join tags on tags.id = tag_id and name = 'common'
      where contact_tags.tenant_id = $1 and tags.tenant_id = $1)`
    filtered = [
      { ...contacts, path: '/api/contacts?tag=common&', condition: isCommon, isCounted: true },
      { ...runs, path: '/api/runs?status=completed&', condition: `status = 'completed'` },
      { ...recipients, path: `${recipients.path}status=read&`, condition: `status = 'read'` },
    ]
  })

  after(async () => {
    await psql.end()
    await app.stop()
  })

  async function readIds({ table, value, condition = 'true' }: List): Promise<string[]> {
    const order = value === undefined ? 'id desc' : `${value} desc, id desc`
    const isShown = table === 'runs' ? IS_SHOWN_RUN : 'true'
    const { rows } = await psql.query<{ id: string }>(
      `select id from ${table} where tenant_id = $1 and ${condition} and ${isShown} order by ${order}`,
      [tenantId],
    )
    return rows.map(({ id }) => id)
  }

  async function readPage(path: string, offset: number) {
    const page = await workspace.call('GET', `${path}limit=${LIMIT}&offset=${offset}`)
    return { ids: page.items.map(({ id }: { id: string }) => id), total: page.total, next: page.nextCursor }
  }

  /** Compares pages from the first to behind the last, in both orders where the list has them, with the rows themselves. */
  async function assertPages(compared = [...Object.values(lists), ...filtered]) {
    for (const list of compared) {
      const ids = await readIds(list)
      const count = ids.length
      expect(count, list.path).to.be.greaterThan(1200)
      const middle = Math.floor(count / 2)
      const offsets = [0, 1000, 1001, middle - LIMIT, middle, middle + LIMIT, Math.floor(count * 0.8), count - 500]
      const orders = [
        { path: list.path, expected: ids },
        ...(list.ascending ? [{ path: `${list.path}sort=${list.ascending}&`, expected: ids.toReversed() }] : []),
      ]
      for (const { path, expected } of orders) {
        for (const offset of [...offsets, count - LIMIT, count - 3, count, count + 100]) {
          const page = await readPage(path, offset)
          expect(page.ids, `${path}offset=${offset}`).to.deep.equal(expected.slice(offset, offset + LIMIT))
          expect(page.next !== undefined, `${path}offset=${offset}`).to.equal(offset + LIMIT < count)
          if (list.isCounted) expect(page.total, path).to.equal(count)
        }
      }
    }
  }

  /** IDs of rows at equal distances in a list, from its first to its last one. */
  async function pickSome(list: List): Promise<string[]> {
    const ids = await readIds(list)
    return Array.from({ length: SOME }, (_, index) => ids[Math.floor((index * (ids.length - 1)) / (SOME - 1))] ?? '')
  }

  /** A time before those of most rows, and equal for all rows of a change. */
  const longAgo = () => new Date(app.clock.now().getTime() - 2000 * HOUR)

  async function deleteRows(): Promise<void> {
    for (const list of [lists.recipients, lists.runs, lists.conversations, lists.contacts]) {
      const values = [tenantId, await pickSome(list)]
      if (list === lists.runs)
        await psql.query('update messages set run_id = null where tenant_id = $1 and run_id = any($2)', values)
      await psql.query(`delete from ${list.table} where tenant_id = $1 and id = any($2)`, values)
    }
  }

  async function insertRows(): Promise<void> {
    const at = longAgo()
    await app.system.db('contacts').insert(
      Array.from({ length: SOME }, (_, index) => ({
        tenant_id: tenantId,
        name: `Older ${index}`,
        phone: newPhone(),
        created_at: at,
      })),
    )
    const { rows: free } = await psql.query<{ id: string; channel_id: string }>(
      `select id, (select id from channels where tenant_id = $1 limit 1) as channel_id from contacts
       where tenant_id = $1 and id not in (select contact_id from conversations where tenant_id = $1) limit $2`,
      [tenantId, SOME],
    )
    await app.system.db('conversations').insert(
      free.map(({ id, channel_id }, index) => ({
        tenant_id: tenantId,
        contact_id: id,
        channel_id,
        status: 'closed',
        last_message_at: index % 2 > 0 ? at : null,
      })),
    )
    await psql.query(
      `insert into runs select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(),
         'trigger_event_id', gen_random_uuid(), 'created_at', $2::timestamptz))).*
       from runs r where tenant_id = $1 limit $3`,
      [tenantId, at, SOME],
    )
    // Recipients are ordered by their IDs, which begin with the time.
    await psql.query(
      `insert into broadcast_recipients select (jsonb_populate_record(r, jsonb_build_object(
         'id', left(id::text, 8) || substr(gen_random_uuid()::text, 9), 'contact_id', gen_random_uuid(),
         'address', gen_random_uuid()))).*
       from broadcast_recipients r where tenant_id = $1 order by id limit $2`,
      [tenantId, SOME],
    )
  }

  async function moveRows(): Promise<void> {
    const [older, newer] = [longAgo(), app.clock.now()]
    for (const [list, column] of [
      [lists.contacts, 'created_at'],
      [lists.conversations, 'last_message_at'],
      [lists.runs, 'created_at'],
    ] as const) {
      for (const [index, at] of [older, newer, ...(column === 'last_message_at' ? [null] : [])].entries()) {
        const ids = (await pickSome(list)).filter((_, n) => n % 3 === index)
        await psql.query(`update ${list.table} set ${column} = $3 where tenant_id = $1 and id = any($2)`, [
          tenantId,
          ids,
          at,
        ])
      }
    }
    for (const { table } of [lists.runs, lists.recipients]) {
      await psql.query(
        `update ${table} set status = 'failed' where tenant_id = $1 and id in (
           select id from ${table} where tenant_id = $1 order by id desc limit $2)`,
        [tenantId, SOME],
      )
    }
  }

  it('has the rows of its place, in both orders, with any filter', async () => {
    await assertPages()
  })

  it('continues with its cursor', async () => {
    for (const list of [...Object.values(lists), ...filtered]) {
      const ids = await readIds(list)
      for (const offset of [1050, ids.length - 30]) {
        const { next } = await readPage(list.path, offset)
        const following = await workspace.call('GET', `${list.path}limit=${LIMIT}&cursor=${next}`)
        const expected = ids.slice(offset + LIMIT, offset + 2 * LIMIT)
        expect(following.items.map(({ id }: { id: string }) => id)).to.deep.equal(expected)
      }
    }
  })

  it('is right at once after an older version or another program deleted rows', async () => {
    await deleteRows()
    await assertPages()
  })

  it('is right at once after an older version or another program inserted rows before others', async () => {
    await insertRows()
    await assertPages()
  })

  it('is right at once after an older version or another program moved rows', async () => {
    await moveRows()
    await assertPages()
  })

  it('is right when rows leave after their number was read and before the page is', async function () {
    if (CITUS_URL !== undefined) this.skip()
    const { path } = lists.contacts
    const oldest = (await readIds(lists.contacts)).slice(-100)
    const offset = CONTACTS - 400
    await psql.query('begin')
    await psql.query('lock table contacts in access exclusive mode')
    const page = readPage(path, offset)
    await waitUntil(async () => (await countLockWaits(app)) > 0)
    await psql.query('delete from contacts where tenant_id = $1 and id = any($2)', [tenantId, oldest])
    await psql.query('commit')
    const { ids, total } = await page
    const left = await readIds(lists.contacts)
    expect(ids).to.deep.equal(left.slice(offset, offset + LIMIT))
    expect(total).to.equal(left.length)
  })

  it('is right after any sequence of changes by the API and by other programs', async () => {
    const random = createRandom(1)
    const pickId = async (list: List) => {
      const ids = await readIds(list)
      return ids[Math.floor(random() * ids.length)]
    }
    const phones = Array.from({ length: 6 }, () => newPhone())
    const send = (further = {}) =>
      workspace.call('POST', '/api/messages', { to: { phone: newPhone() }, template: { templateId }, ...further })
    const changes = [
      async () => workspace.request('DELETE', `/api/contacts/${await pickId(lists.contacts)}`),
      async () => {
        const conversationId = await pickId(lists.conversations)
        const { contactId } = await workspace.call('GET', `/api/conversations/${conversationId}`)
        await workspace.request('POST', '/api/sandbox/messages', { contactId, body: 'Hello' })
      },
      async () => sendAsCustomer(workspace, { phone: phones[Math.floor(random() * phones.length)] ?? '' }),
      async () => send(),
      async () => send({ sendAt: new Date(app.clock.now().getTime() + 30 * MINUTE).toISOString() }),
      async () => app.work(),
      async () => app.clock.advance(Math.floor(random() * 20) * MINUTE),
      deleteRows,
      insertRows,
      moveRows,
    ]
    for (let step = 0; step < STEPS; step += 1) {
      await changes[Math.floor(random() * changes.length)]?.()
      if (step % 10 === 0) await assertPages()
    }
    await app.work()
    await assertPages()
  })
})
