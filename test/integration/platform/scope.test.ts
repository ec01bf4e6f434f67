import { expect } from 'chai'
import { Contact } from '../../../src/models/contacts.ts'
import { joinFragments, sqlFragment } from '../../../src/platform/database/statements/statement.ts'
import type { Scope } from '../../../src/scope/scope.ts'
import { purgeIdempotencyKeys } from '../../../src/features/retention/purge-rows.ts'
import { buildContact, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const HOUR_MS = 60 * 60 * 1000

describe('the scope of a tenant', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let scope: Scope

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
    workspace = await buildWorkspace(app)
    scope = app.system.forTenant(workspace.tenantId)
  })

  after(() => app.stop())

  const lockContact = (id: string) =>
    [`select 1 from contacts where tenant_id = ? and id = ? for update`, [workspace.tenantId, id]] as const

  it('finds no row of another tenant when the conditions of a query are alternatives', async () => {
    const other = await buildWorkspace(app)
    for (const name of ['Here', 'Elsewhere']) await buildContact(other, { name })
    const own = await buildContact(workspace, { name: 'Here' })
    const rows = await scope.query(Contact).where('name', 'Here').orWhere('name', 'Elsewhere')
    expect(rows.map(({ id }) => id)).to.deep.equal([own.id])
  })

  it('executes a statement with composed fragments and returns its rows in camelCase', async () => {
    const { id } = await buildContact(workspace, { name: 'Is it a ? or {a}' })
    const isNamed = sqlFragment`c.name like ${'%?%'} and c.name ~ '\\?'`
    const rows = await scope.sql<{ id: string; tenantId: string; found: string[] }>('findContact')`
      select c.id, c.tenant_id, ${['a', 'b']}::text[] as found from contacts c
      where c.tenant_id = ${scope.tenantId} and ${joinFragments([isNamed, sqlFragment`c.id = ${id}`], ' and ')}`
    expect(rows).to.deep.equal([{ id, tenantId: scope.tenantId, found: ['a', 'b'] }])
  })

  it('refuses a statement that names no tenant, or another one, for one of its tables', async () => {
    const other = await buildWorkspace(app)
    const inContact = sqlFragment`select m.id from messages m join contacts c on c.tenant_id = m.tenant_id`
    const missing = await errorMessage(scope.sql('x')`${inContact} where m.tenant_id = ${scope.tenantId}`)
    expect(missing).to.equal('The statement "x" has no condition c.tenant_id = <the tenant> for table contacts')
    const wrong = await errorMessage(scope.sql('x')`select id from messages where tenant_id = ${other.tenantId}`)
    expect(wrong).to.equal('The statement "x" binds another tenant as $1')
  })

  it('refuses a statement on a tenant table outside of the scope of a tenant', async () => {
    const message = await errorMessage(app.system.sql('x')`select id from messages`)
    expect(message).to.equal('The statement "x" touches the tenant table messages. Execute it in the scope of a tenant')
    expect(await app.system.acrossTenants('x')`select id from messages`).to.deep.equal([])
  })

  it('shows the name of a statement to the server', async () => {
    const [row] = await app.system.sql<{ query: string }>('showName')`
      select query from pg_stat_activity where pid = pg_backend_pid()`
    expect(row?.query).to.match(/^\/\* showName \*\//)
  })

  it('executes statements in the order of their calls, also those that do not wait for earlier ones', async () => {
    const { id } = await buildContact(workspace, { name: 'First' })
    const rename = (tx: Scope, name: string) => tx.sql<{ name: string }>('renameContact')`
      update contacts set name = name || ${name} where tenant_id = ${tx.tenantId} and id = ${id} returning name`
    const results = await scope.transaction((tx) => Promise.all(['2', '3', '4'].map((name) => rename(tx, name))))
    expect(results.flat().map(({ name }) => name)).to.deep.equal(['First2', 'First23', 'First234'])
  })

  it('fails with the first error and stores nothing when one of several statements in progress fails', async () => {
    const { id } = await buildContact(workspace, { name: 'Kept' })
    const divide = (tx: Scope, divisor: number) => tx.sql('renameContact')`
      update contacts set name = (1 / ${divisor}::int)::text where tenant_id = ${tx.tenantId} and id = ${id}`
    const work = scope.transaction((tx) => Promise.all([divide(tx, 1), divide(tx, 0), divide(tx, 1)]))
    expect(await errorMessage(work)).to.equal('division by zero')
    expect((await scope.get(Contact, id)).name).to.equal('Kept')
    expect(await scope.transaction((tx) => tx.sql('one')`select 1 as one`)).to.deep.equal([{ one: 1 }])
  })

  it('stores nothing when the events of a transaction cannot be stored, and reports the error', async () => {
    const { id } = await buildContact(workspace, { name: 'Kept' })
    const work = scope.transaction(async (tx) => {
      await tx.query(Contact).findOne('id', id).patch({ name: 'Changed' })
      await tx.record({ type: 'contact.updated', data: { contactId: 'not storable: \0', changed: [] } })
    })
    expect(await errorMessage(work)).to.equal('unsupported Unicode escape sequence')
    expect((await scope.get(Contact, id)).name).to.equal('Kept')
  })

  it('repeats a transaction that lost a deadlock, so that the caller gets its result', async () => {
    // On a slow machine the opponent may lose, and the transaction is attempted once. There the repetition may also be
    // faster than the opponent, and meet it in another deadlock.
    let attempts = 0
    while (attempts < 2) attempts = await countAttemptsInDeadlock()
    expect(attempts).to.be.within(2, 3)
  })

  /** Lets a transaction of the scope wait for an opponent that then waits for it; returns its number of attempts. */
  async function countAttemptsInDeadlock(): Promise<number> {
    const [first, second] = [await buildContact(workspace), await buildContact(workspace)]
    const opponent = await app.system.db.transaction()
    await opponent.raw(...lockContact(second.id))
    let attempts = 0
    // The transaction that waits first usually detects the deadlock first and loses it.
    const work = scope.transaction(async (tx) => {
      attempts += 1
      await tx.lock(Contact, first.id)
      await tx.lock(Contact, second.id)
      return 'done'
    })
    await waitUntil(async () => (await countLockWaits(app)) > 0)
    await opponent.raw(...lockContact(first.id)).then(
      () => opponent.commit(),
      () => opponent.rollback(),
    )
    expect(await work).to.equal('done')
    return attempts
  }

  it('keeps the answer of an Idempotency-Key to its own workspace and for a day', async () => {
    const other = await buildWorkspace(app)
    const create = (caller: WorkspaceClient, phone: string) =>
      caller.request('POST', '/api/contacts', { name: 'Ana', phone }, { 'idempotency-key': 'shared' })
    const phone = newPhone()
    const [mine, theirs] = [await create(workspace, phone), await create(other, phone)]
    expect([mine.status, theirs.status]).to.deep.equal([201, 201])
    expect(theirs.headers.get('idempotency-replayed')).to.equal(null)
    expect(theirs.body.id).to.not.equal(mine.body.id)
    app.clock.advance(24 * HOUR_MS)
    await purgeIdempotencyKeys(app.system)
    expect((await create(workspace, phone)).headers.get('idempotency-replayed')).to.equal('true')
    app.clock.advance(1)
    await purgeIdempotencyKeys(app.system)
    expect((await create(workspace, phone)).status).to.equal(409)
  })
})
