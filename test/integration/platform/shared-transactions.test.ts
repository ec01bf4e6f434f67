import { expect } from 'chai'
import type { Scope } from '../../../src/scope.ts'
import { buildContact, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { waitUntil } from '../../support/wait-until.ts'

type Member = { scope: Scope; contactId: string }
type TransactionWork = (tx: Scope, member: Member) => Promise<unknown>

/** Transactions that are open at a time. */
const WIDTH = 2

describe('shared transactions', () => {
  let app: TestApp
  let members: [Member, Member, Member]

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
    members = [await createMember(), await createMember(), await createMember()]
  })

  after(() => app.stop())

  async function createMember(): Promise<Member> {
    const workspace = await buildWorkspace(app)
    const { id: contactId } = await buildContact(workspace, { name: 'Before' })
    return { scope: app.system.forTenant(workspace.tenantId), contactId }
  }

  /** Opens as many transactions as there may be, so that what comes next waits and is taken together. */
  async function occupy(): Promise<() => Promise<unknown>> {
    const opened: (() => void)[] = []
    const transactions = members
      .slice(0, WIDTH)
      .map(({ scope }) => scope.transaction(() => new Promise<void>((resolve) => opened.push(resolve)), { size: 1 }))
    await waitUntil(() => opened.length === WIDTH)
    return () => {
      for (const end of opened) end()
      return Promise.all(transactions)
    }
  }

  /** Executes the work of each member, all of which waits at first, and returns the transaction of each that committed. */
  async function runTogether(
    works: TransactionWork[],
    { size = 1, by = members }: { size?: number; by?: Member[] } = {},
  ) {
    const end = await occupy()
    const results = works.map((work, index) => {
      const member = by[index]
      if (!member) throw new Error('there are fewer workspaces')
      return member.scope.transaction(
        async (tx) => {
          await work(tx, member)
          return readTransactionId(tx)
        },
        { size },
      )
    })
    await end()
    return Promise.allSettled(results)
  }

  async function readTransactionId(tx: Scope): Promise<string> {
    const [row] = await tx.sql<{ id: string }>('readTransactionId')`select pg_current_xact_id()::text as id`
    return row?.id ?? ''
  }

  const rename =
    (name: string): TransactionWork =>
    (tx, { contactId }) =>
      tx.sql('rename')`update contacts set name = ${name} where tenant_id = ${tx.tenantId} and id = ${contactId}`

  const readNames = () =>
    Promise.all(
      members.map(async ({ scope, contactId }) => {
        const [row] = await scope.sql<{ name: string }>('readName')`
          select name from contacts where tenant_id = ${scope.tenantId} and id = ${contactId}`
        return row?.name
      }),
    )

  const toIds = (outcomes: PromiseSettledResult<string>[]) =>
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : undefined))

  it('the work of several workspaces that waits is committed by one transaction', async () => {
    const ids = toIds(await runTogether([rename('A1'), rename('B1'), rename('C1')]))
    expect(new Set(ids).size).to.equal(1)
    expect(await readNames()).to.deep.equal(['A1', 'B1', 'C1'])
  })

  it('work that fails is rolled back, and that of the others is committed, each by a transaction of its own', async () => {
    const outcomes = await runTogether([
      rename('A2'),
      async (tx, member) => {
        await rename('B2')(tx, member)
        throw new Error('no')
      },
      rename('C2'),
    ])
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled'])
    expect(outcomes[1]).to.have.property('reason').that.has.property('message', 'no')
    expect(new Set(toIds(outcomes)).size).to.equal(3)
    expect(await readNames()).to.deep.equal(['A2', 'B1', 'C2'])
  })

  it('work that catches the error of a statement takes nothing of the others with it', async () => {
    const [first, , third] = await runTogether([
      rename('A3'),
      (tx) => tx.sql('divide')`select 1 / ${0}::int`.catch(() => undefined),
      rename('C3'),
    ])
    expect([first?.status, third?.status]).to.deep.equal(['fulfilled', 'fulfilled'])
    expect(await readNames()).to.deep.equal(['A3', 'B1', 'C3'])
  })

  it('work that waits for a lock delays the others only for a moment', async () => {
    const [, locked] = members
    let free = () => {}
    const holder = locked.scope.transaction(async (tx) => {
      await rename('B4')(tx, locked)
      await new Promise<void>((resolve) => (free = resolve))
    })
    await waitUntil(async () => {
      const rows = await app.system.acrossTenants('findLocked')`
        select id from contacts where id = ${locked.contactId} for update skip locked`
      return rows.length === 0
    })
    const end = await occupy()
    const run = (member: Member, name: string) =>
      member.scope.transaction((tx) => rename(name)(tx, member), { size: 1 })
    const waiting = run(locked, 'B5')
    await Promise.all([run(members[0], 'A4'), run(members[2], 'C4'), end()])
    expect(await readNames()).to.deep.equal(['A4', 'B1', 'C4'])
    free()
    await Promise.all([holder, waiting])
    expect(await readNames()).to.deep.equal(['A4', 'B5', 'C4'])
  })

  it('work with an inner transaction is executed in a transaction of its own', async () => {
    const outcomes = await runTogether([
      rename('A6'),
      (tx, member) => tx.transaction((inner) => rename('B6')(inner, member)),
      rename('C6'),
    ])
    expect(new Set(toIds(outcomes)).size).to.equal(3)
    expect(await readNames()).to.deep.equal(['A6', 'B6', 'C6'])
  })

  it('work of one workspace is never in the same transaction', async () => {
    const [member] = members
    const ids = toIds(await runTogether([rename('A7'), rename('A8')], { by: [member, member] }))
    expect(new Set(ids).size).to.equal(2)
  })

  it('work that is too large to be together is in several transactions', async () => {
    const ids = toIds(await runTogether([rename('A9'), rename('B9'), rename('C9')], { size: 20 }))
    expect(new Set(ids).size).to.equal(2)
    expect(ids[0]).to.equal(ids[1])
  })

  it('events of work that is repeated are recorded once', async () => {
    const [member] = members
    const record: TransactionWork = (tx) => tx.record({ type: 'test.repeated', data: { contactId: member.contactId } })
    await runTogether([
      record,
      async () => {
        throw new Error('no')
      },
    ])
    const events = await member.scope.sql('findEvents')`
      select id from events where tenant_id = ${member.scope.tenantId} and type = 'test.repeated'`
    expect(events).to.have.lengthOf(1)
  })

  it('nothing is repeated when the connection is lost', async () => {
    let attempts = 0
    const outcomes = await runTogether([
      async () => {
        attempts += 1
      },
      (tx) => tx.sql('terminate')`select pg_terminate_backend(pg_backend_pid()) where ${true}`,
    ])
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    expect(attempts).to.equal(1)
    const [{ scope }] = members
    expect(await scope.transaction(readTransactionId, { size: 1 })).to.match(/^\d+$/)
  })
})
