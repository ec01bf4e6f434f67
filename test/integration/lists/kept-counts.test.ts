import { expect } from 'chai'
import { recount, rollUpCounts } from '../../../src/features/counts/maintain-counts.ts'
import {
  buildChannel,
  buildContact,
  buildTemplate,
  buildWorkspace,
  getSandboxId,
  newPhone,
  sendAsCustomer,
} from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { CITUS_URL } from '../../support/postgres.ts'
import { createRandom } from '../../support/random.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const STEPS = 120

describe('kept totals', function () {
  this.timeout(120_000)
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  /** Reads every kept total by the API. */
  async function readTotals() {
    const { items: tags } = await workspace.call('GET', '/api/tags')
    const { items: groups, total: groupsTotal } = await workspace.call('GET', '/api/groups?limit=100')
    const members = await Promise.all(
      groups.map(async ({ id }: { id: string }) => {
        const { total } = await workspace.call('GET', `/api/groups/${id}/contacts`)
        return [id, total]
      }),
    )
    return {
      contacts: (await workspace.call('GET', '/api/contacts')).total,
      conversations: (await workspace.call('GET', '/api/conversations')).total,
      groupsTotal,
      broadcasts: (await workspace.call('GET', '/api/broadcasts')).total,
      tags: Object.fromEntries(tags.map((tag: { id: string; contactCount: number }) => [tag.id, tag.contactCount])),
      groups: Object.fromEntries(groups.map((one: { id: string; contactCount: number }) => [one.id, one.contactCount])),
      members: Object.fromEntries(members),
    }
  }

  /** Counts the rows themselves. */
  async function countRows() {
    const count = async (table: string, owner: string) => {
      const { rows } = await app.system.db.raw(
        `select ${owner} as owner, count(*)::int as n from ${table} where tenant_id = ? group by 1`,
        [workspace.tenantId],
      )
      return new Map<string, number>(rows.map((row: { owner: string; n: number }) => [row.owner, row.n]))
    }
    const list = async (table: string) =>
      (await app.system.db(table).where('tenant_id', workspace.tenantId).select('id')).map(
        (row: { id: string }) => row.id,
      )
    const [tagCounts, groupCounts] = [await count('contact_tags', 'tag_id'), await count('group_contacts', 'group_id')]
    const toCounts = (ids: string[], counts: Map<string, number>) =>
      Object.fromEntries(ids.map((id) => [id, counts.get(id) ?? 0]))
    const groupIds = await list('groups')
    const groups = toCounts(groupIds, groupCounts)
    return {
      contacts: (await count('contacts', 'tenant_id')).get(workspace.tenantId) ?? 0,
      conversations: (await count('conversations', 'tenant_id')).get(workspace.tenantId) ?? 0,
      groupsTotal: groupIds.length,
      broadcasts: (await list('broadcasts')).length,
      tags: toCounts(await list('tags'), tagCounts),
      groups,
      members: groups,
    }
  }

  for (const seed of [1, 2, 3]) {
    it(`equal the numbers of rows after any sequence of changes, also while they are rolled up (seed ${seed})`, async () => {
      const random = createRandom(seed)
      const pick = <T>(items: T[]): T | undefined => items[Math.floor(random() * items.length)]
      const phones = Array.from({ length: 12 }, () => newPhone())
      const listIds = async (path: string): Promise<string[]> =>
        (await workspace.call('GET', path)).items.map((item: { id: string }) => item.id)
      const channelId = await getSandboxId(workspace)
      const { id: templateId } = await buildTemplate(workspace, { channelId })
      const changes = [
        () => workspace.request('POST', '/api/broadcasts', { name: 'Sale', templateId }),
        async () => workspace.request('DELETE', `/api/broadcasts/${pick(await listIds('/api/broadcasts'))}`),
        () => workspace.request('POST', '/api/contacts', { name: 'Ana', phone: pick(phones), tags: ['vip', 'new'] }),
        () => sendAsCustomer(workspace, { phone: pick(phones) ?? '' }),
        () => workspace.request('POST', '/api/groups', { name: `Group ${random()}` }),
        async () => {
          const contactId = pick(await listIds('/api/contacts'))
          const tags = random() < 0.5 ? { addTags: ['vip', 'late'] } : { tags: ['only'] }
          await workspace.request('PATCH', `/api/contacts/${contactId}`, tags)
        },
        async () => {
          const groupId = pick(await listIds('/api/groups'))
          const contactIds = await listIds('/api/contacts')
          await workspace.request('POST', `/api/groups/${groupId}/contacts`, { contactIds })
        },
        async () => {
          const [groupId, contactId] = [pick(await listIds('/api/groups')), pick(await listIds('/api/contacts'))]
          await workspace.request('DELETE', `/api/groups/${groupId}/contacts/${contactId}`)
        },
        async () => workspace.request('DELETE', `/api/contacts/${pick(await listIds('/api/contacts'))}`),
        async () => workspace.request('DELETE', `/api/tags/${pick(await listIds('/api/tags'))}`),
        async () => workspace.request('DELETE', `/api/groups/${pick(await listIds('/api/groups'))}`),
        () => rollUpCounts(app.system),
      ]
      for (let step = 0; step < STEPS; step += 1) {
        const [one, other] = [pick(changes), pick(changes)]
        await Promise.all([one?.(), other?.()])
        if (step % 20 === 0) expect(await readTotals()).to.deep.equal(await countRows())
      }
      const totals = await readTotals()
      expect(totals).to.deep.equal(await countRows())
      expect(totals.contacts).to.be.greaterThan(0)
      await rollUpCounts(app.system)
      expect(await readTotals()).to.deep.equal(totals)
      expect(await listZeroes()).to.deep.equal([])
    })
  }

  /** Numbers that are kept of what was deleted. Those of the workspace itself stay. */
  async function listZeroes(): Promise<unknown[]> {
    return app.system.db('kept_counts').where({ tenant_id: workspace.tenantId, count: 0, counted_at: null })
  }

  it('lose the conversations of a channel that is deleted, and keep their contacts', async () => {
    const channel = await buildChannel(workspace)
    const contacts = [await buildContact(workspace), await buildContact(workspace)]
    const now = app.clock.now()
    const row = {
      tenant_id: workspace.tenantId,
      channel_id: channel.id,
      status: 'active',
      created_at: now,
      updated_at: now,
    }
    await app.system.db('conversations').insert(contacts.map(({ id }) => ({ ...row, id, contact_id: id })))
    expect((await readTotals()).conversations).to.equal(2)
    await workspace.call('DELETE', `/api/channels/${channel.id}`)
    expect(await readTotals()).to.include({ conversations: 0, contacts: 2 })
  })

  it('do not change when the change is rolled back', async () => {
    const contact = await buildContact(workspace)
    const conflict = await workspace.request('POST', '/api/contacts', {
      name: 'Bea',
      phone: contact.phone,
      tags: ['x'],
    })
    expect(conflict.status).to.equal(409)
    expect(await readTotals()).to.deep.include({ contacts: 1, tags: {} })
  })

  it('of one workspace do not count the rows of another', async () => {
    const other = await buildWorkspace(app)
    await buildContact(other, { tags: ['vip'] })
    expect(await readTotals()).to.deep.include({ contacts: 0, tags: {} })
  })

  for (const [statement, title] of [
    ['recountRows', 'are exact after a recount during which a row is added and rolled up'],
    ['rollUpCounts', 'are exact after a recount that began during a roll-up'],
  ] as const) {
    it(title, async function () {
      if (CITUS_URL !== undefined) this.skip()
      const { db } = app.system
      await buildContact(workspace)
      await db.raw(`
        create function hold_statement() returns trigger language plpgsql as $$ begin
          if current_query() ~ '${statement}' then perform pg_advisory_xact_lock(42); end if;
          return new;
        end $$;
        create trigger hold_statement before insert on kept_counts for each row execute function hold_statement()`)
      const transaction = await db.transaction()
      await transaction.raw('select pg_advisory_xact_lock(42)')
      const start = {
        recountRows: () => recount(db, workspace.tenantId),
        rollUpCounts: () => rollUpCounts(app.system),
      }
      const first = start[statement]()
      await waitUntil(async () => (await countLockWaits(app)) > 0)
      await buildContact(workspace)
      const second = statement === 'recountRows' ? start.rollUpCounts() : start.recountRows()
      await Promise.race([second, waitUntil(async () => (await countLockWaits(app)) > 1)])
      await transaction.commit()
      await Promise.all([first, second]).finally(() => db.raw('drop function hold_statement cascade'))
      expect((await readTotals()).contacts).to.equal(2)
    })
  }

  it('are set to the numbers of rows by a recount', async () => {
    await buildContact(workspace, { tags: ['vip'] })
    await sendAsCustomer(workspace)
    const totals = await readTotals()
    await app.system.db('kept_counts').where('tenant_id', workspace.tenantId).delete()
    await app.system.db('kept_count_deltas').where('tenant_id', workspace.tenantId).update({ delta: 7 })
    await recount(app.system.db, workspace.tenantId)
    expect(await readTotals()).to.deep.equal(totals)
  })
})
