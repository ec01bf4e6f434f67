import { expect } from 'chai'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { CITUS_URL } from '../../support/postgres.ts'
import {
  createMember,
  type Member,
  readNames,
  readPort,
  readTransactionId,
  rename,
  type TransactionWork,
} from '../../support/transaction-members.ts'
import { repeatUntil, waitUntil } from '../../support/wait-until.ts'

/** Transactions that are open at a time. */
const WIDTH = 2
/** The time after which a transaction makes room for another one. */
const HOLD_MAX_MS = 100

describe('shared transactions', () => {
  let app: TestApp
  let members: [Member, Member, Member]
  /** Workspaces that occupy the transactions. */
  let others: Member[]

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
    const next = createNeighbours()
    members = [await next(), await next(), await next()]
    others = [await next(), await next()]
  })

  after(() => app.stop())

  /** Returns a function that creates members, on a distributed database those of one node. */
  function createNeighbours(): () => Promise<Member> {
    let port: string | undefined
    return async function next(): Promise<Member> {
      const member = await createMember(app)
      const ofMember = await readPort(member.scope)
      port ??= ofMember
      return ofMember === port ? member : next()
    }
  }

  /**
   * Opens as many transactions as there may be, so that what comes next waits and is taken together. Those of a busy machine
   * may make room before they are open: then it tries again.
   */
  async function occupy(): Promise<() => Promise<unknown>> {
    const opened: (() => void)[] = []
    const startedAt = performance.now()
    const transactions = others.map(({ scope }) =>
      scope.transaction(() => new Promise<void>((resolve) => opened.push(resolve)), { size: 1 }),
    )
    await waitUntil(() => opened.length === WIDTH)
    const end = () => {
      for (const endOne of opened) endOne()
      return Promise.all(transactions)
    }
    if (performance.now() - startedAt < HOLD_MAX_MS / 2) return end
    await end()
    return occupy()
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

  /** The transactions of works that take more than a second on a busy machine are split. */
  async function runInTransactions(
    count: number,
    works: TransactionWork[],
    options: { size?: number } = {},
  ): Promise<unknown[]> {
    const run = async () => toIds(await runTogether(works, options))
    const ids = await repeatUntil(run, (all) => new Set(all).size === count)
    expect(new Set(ids).size).to.equal(count)
    return ids
  }

  const toIds = (outcomes: PromiseSettledResult<string>[]) =>
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : undefined))

  it('the work of several workspaces that waits is committed by one transaction', async () => {
    await runInTransactions(1, [rename('A1'), rename('B1'), rename('C1')])
    expect(await readNames(members)).to.deep.equal(['A1', 'B1', 'C1'])
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
    expect(await readNames(members)).to.deep.equal(['A2', 'B1', 'C2'])
  })

  it('work that catches the error of a statement takes nothing of the others with it', async () => {
    const [first, , third] = await runTogether([
      rename('A3'),
      (tx) => tx.sql('divide')`select 1 / ${0}::int`.catch(() => undefined),
      rename('C3'),
    ])
    expect([first?.status, third?.status]).to.deep.equal(['fulfilled', 'fulfilled'])
    expect(await readNames(members)).to.deep.equal(['A3', 'B1', 'C3'])
  })

  it('work that waits for a lock delays the others only for a moment', async () => {
    const [, locked] = members
    let free = () => {}
    const holder = locked.scope.transaction(async (tx) => {
      await rename('B4')(tx, locked)
      await new Promise<void>((resolve) => (free = resolve))
    })
    await waitUntil(async () => {
      const rows = await locked.scope.sql('findUnlocked')`
        select id from contacts where tenant_id = ${locked.scope.tenantId} and id = ${locked.contactId} for update skip locked`
      return rows.length === 0
    })
    const end = await occupy()
    const run = (member: Member, name: string) =>
      member.scope.transaction((tx) => rename(name)(tx, member), { size: 1 })
    const waiting = run(locked, 'B5')
    await Promise.all([run(members[0], 'A4'), run(members[2], 'C4'), end()])
    expect(await readNames(members)).to.deep.equal(['A4', 'B1', 'C4'])
    free()
    await Promise.all([holder, waiting])
    expect(await readNames(members)).to.deep.equal(['A4', 'B5', 'C4'])
  })

  it('a statement that takes long or is canceled delays the others only for a moment, and is executed again alone', async () => {
    let attempts = 0
    const [, slow] = await runTogether([
      rename('A5'),
      (tx) => {
        attempts += 1
        return tx.sql('sleep')`select pg_sleep(${attempts === 1 ? 60 : 0})`
      },
      rename('C5'),
    ])
    expect([slow?.status, attempts]).to.deep.equal(['fulfilled', 2])
    expect(await readNames(members)).to.deep.equal(['A5', 'B5', 'C5'])
  })

  it('the limits of statements end with the transaction, and before its commit', async () => {
    const readTimeout: TransactionWork = async (tx) => {
      const [row] = await tx.sql<{ timeout: string }>(
        'readTimeout',
      )`select current_setting('statement_timeout') as timeout`
      timeouts.push(row?.timeout)
    }
    let timeouts: unknown[] = []
    const runBoth = async () => {
      timeouts = []
      await runTogether([readTimeout, readTimeout])
      return timeouts
    }
    await repeatUntil(runBoth, (all) => all.length === 2)
    expect(timeouts).to.deep.equal(['1s', '1s'])
    const [{ scope }] = members
    await scope.transaction((tx) => readTimeout(tx, members[0]), { size: 1 })
    expect(timeouts.at(-1)).to.equal('30s')
  })

  it('the commit of a transaction has the time of its connection, which may wait for a standby', async function () {
    // Distributed tables have no triggers.
    if (CITUS_URL !== undefined) this.skip()
    await app.system.db.raw(`create table commits (timeout text);
      create function note_timeout() returns trigger language plpgsql as
        $$ begin insert into commits values (current_setting('statement_timeout')); return null; end $$;
      create constraint trigger note_timeout after update on contacts deferrable initially deferred
        for each row execute function note_timeout()`)
    await runInTransactions(1, [rename('A1'), rename('B1'), rename('C1')])
    const timeouts = await app.system.db('commits').distinct().pluck('timeout')
    await app.system.db.raw('drop function note_timeout cascade; drop table commits')
    expect(timeouts).to.deep.equal(['30s'])
  })

  it('work begins although the transactions before it take long, and nothing else arrives', async () => {
    const [{ scope }] = members
    const end = await occupy()
    let id = ''
    const begun = scope.transaction(async (tx) => (id = await readTransactionId(tx)), { size: 1 })
    await waitUntil(() => id !== '').finally(end)
    await begun
  })

  it('work with an inner transaction is executed in a transaction of its own', async () => {
    const outcomes = await runTogether([
      rename('A6'),
      (tx, member) => tx.transaction((inner) => rename('B6')(inner, member)),
      rename('C6'),
    ])
    expect(new Set(toIds(outcomes)).size).to.equal(3)
    expect(await readNames(members)).to.deep.equal(['A6', 'B6', 'C6'])
  })

  it('work of one workspace is never in the same transaction', async () => {
    const [member] = members
    const ids = toIds(await runTogether([rename('A7'), rename('A8')], { by: [member, member] }))
    expect(new Set(ids).size).to.equal(2)
  })

  it('work of one workspace alone is not limited to the number of shared transactions', async () => {
    const [{ scope }] = members
    let started = 0
    let end = () => {}
    const ended = new Promise<void>((resolve) => (end = resolve))
    const works = Array.from({ length: WIDTH + 2 }, () =>
      scope.transaction(
        () => {
          started += 1
          return ended
        },
        { size: 1 },
      ),
    )
    await waitUntil(() => started === WIDTH + 2)
    end()
    await Promise.all(works)
  })

  it('work that is too large to be together is in several transactions', async () => {
    const ids = await runInTransactions(2, [rename('A9'), rename('B9'), rename('C9')], { size: 20 })
    expect(ids[0]).to.equal(ids[1])
  })

  it('events of work that is repeated are recorded once', async () => {
    const [member] = members
    const record: TransactionWork = (tx) =>
      tx.record({ type: 'custom.repeated', data: { contactId: member.contactId, runId: null } })
    await runTogether([
      record,
      async () => {
        throw new Error('no')
      },
    ])
    const events = await member.scope.sql('findEvents')`
      select id from events where tenant_id = ${member.scope.tenantId} and type = 'custom.repeated'`
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
