import { expect } from 'chai'
import { Contact } from '../../../src/models/contacts/contact.ts'
import type { Scope } from '../../../src/scope.ts'
import { purgeIdempotencyKeys } from '../../../src/trpc/idempotency.ts'
import { buildContact, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
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

  const lockContact = (id: string) => [`select 1 from contacts where id = ? for update`, [id]] as const

  it('finds no row of another tenant when the conditions of a query are alternatives', async () => {
    const other = await buildWorkspace(app)
    for (const name of ['Here', 'Elsewhere']) await buildContact(other, { name })
    const own = await buildContact(workspace, { name: 'Here' })
    const rows = await scope.query(Contact).where('name', 'Here').orWhere('name', 'Elsewhere')
    expect(rows.map(({ id }) => id)).to.deep.equal([own.id])
  })

  it('repeats a transaction that lost a deadlock, so that the caller gets its result', async () => {
    // On a slow machine the opponent may lose, and the transaction is attempted once.
    let attempts = 0
    while (attempts < 2) attempts = await countAttemptsInDeadlock()
    expect(attempts).to.equal(2)
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
      await tx.db.raw(...lockContact(first.id))
      await tx.db.raw(...lockContact(second.id))
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
