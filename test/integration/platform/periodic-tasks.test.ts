import { expect } from 'chai'
import { sqlFragment } from '../../../src/platform/database/statements/statement.ts'
import { type PeriodicTask, startPeriodicTasks } from '../../../src/platform/jobs/periodic-tasks.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { createCheckedLogger } from '../../support/log-canaries.ts'
import { waitUntil } from '../../support/wait-until.ts'

const EVERY_MS = SECOND / 4
/** A turn may be taken that much before its interval is over. */
const EARLY = 0.9

describe('periodic tasks of several workers', () => {
  let app: TestApp
  let stops: (() => Promise<void>)[] = []
  let listeners: (() => void)[] = []

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
  })
  afterEach(async () => {
    await Promise.all(stops.map((stop) => stop()))
    stops = []
    listeners = []
    await app.system.db('periodic_tasks').delete()
  })
  after(() => app.stop())

  /**
   * Starts a worker with a task, and returns the times at which it has begun the task. `hasDueWork` is the answer when it looks
   * ahead.
   */
  function startWorker(
    task: Partial<PeriodicTask> & { name: string },
    hasDueWork: (aheadMs: number) => boolean = () => false,
  ): number[] {
    const begun: number[] = []
    const run = () => {
      begun.push(performance.now())
      return task.run?.() ?? Promise.resolve()
    }
    const notifications = {
      subscribe: (_topic: string, receive: (text: string | undefined) => void) => {
        listeners.push(() => receive(undefined))
        return () => undefined
      },
    }
    const options = {
      db: app.system.db,
      log: createCheckedLogger(),
      notifications,
      hasDueWork: (aheadMs: number) => Promise.resolve(hasDueWork(aheadMs)),
    }
    const stop = startPeriodicTasks([{ everyMs: EVERY_MS, ...task, run }], options)
    stops.push(() => stop(0))
    return begun
  }

  const readRow = async (name: string) => {
    const row = await app.system.db('periodic_tasks').where({ name }).first()
    return row && { ...row, intervalMs: row.next_at.getTime() - row.ran_at.getTime() }
  }

  it('begin a task once in an interval together', async () => {
    const startMs = performance.now()
    const workers = [1, 2, 3].map(() => startWorker({ name: 'shared' }))
    await waitUntil(() => workers.flat().length >= 8)
    const begun = workers.flat()
    const elapsedMs = Math.max(...begun) - startMs
    // What was taken early may have begun late.
    expect(elapsedMs).to.be.greaterThan((begun.length - 1) * EVERY_MS * EARLY)
  })

  it('begin a task of each process in all of them', async () => {
    const workers = [1, 2, 3].map(() => startWorker({ name: 'own', isOfProcess: true }))
    await waitUntil(() => workers.every((begun) => begun.length >= 3))
    expect(await readRow('own')).to.equal(undefined)
  })

  it('go on when the worker that has begun a task never ends it', async () => {
    const hanging = startWorker({ name: 'shared', run: () => new Promise(() => undefined) })
    await waitUntil(() => hanging.length === 1)
    const other = startWorker({ name: 'shared' })
    await waitUntil(() => other.length >= 3)
    expect(hanging.length).to.equal(1)
  })

  it('give the turn of a task that has failed to another one', async () => {
    const failing = startWorker({ name: 'shared', run: () => Promise.reject(new Error('no')) })
    await waitUntil(() => failing.length === 1)
    await waitUntil(async () => (await readRow('shared')) === undefined)
    const other = startWorker({ name: 'shared' })
    await waitUntil(() => other.length >= 3)
    expect(await readRow('shared')).to.not.equal(undefined)
  })

  it('go on after the rows of turns are lost, and after the clock of the database was set back', async () => {
    const begun = startWorker({ name: 'shared' })
    await waitUntil(() => begun.length >= 2)
    await app.system.db('periodic_tasks').delete()
    const afterLoss = begun.length
    await waitUntil(() => begun.length >= afterLoss + 2)
    await app.system.db.raw(`update periodic_tasks set ran_at = ran_at + interval '1 hour'`)
    const afterChange = begun.length
    await waitUntil(() => begun.length >= afterChange + 2)
    expect((await readRow('shared'))?.ran_at.getTime()).to.be.lessThan(Date.now() + 60 * SECOND)
  })

  it('wait for a lock of their table with two connections of each worker at most', async () => {
    const begun = startWorker({ name: 'shared' })
    await waitUntil(() => begun.length >= 1)
    const waiting = async () => {
      const { rows } = await app.system.db.raw<{ rows: { n: number }[] }>(
        `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like '%periodic_tasks%'`,
      )
      return rows[0]?.n
    }
    const max = 2
    const ticks = startWorker({ name: 'own', isOfProcess: true })
    await app.system.db.transaction(async (tx) => {
      await tx.raw('lock table periodic_tasks in access exclusive mode')
      await waitUntil(async () => (await waiting()) === max)
      const before = ticks.length
      await waitUntil(() => ticks.length >= before + 4)
      expect(await waiting()).to.equal(max)
    })
    const before = begun.length
    await waitUntil(() => begun.length >= before + 2)
  })

  const readInterval = async (name = 'shared') => Math.round(((await readRow(name))?.intervalMs ?? 0) / EARLY)

  it('are begun every 5 seconds from 10 seconds after the last event on, and look ahead every 15 from a minute on', async () => {
    const looks: number[] = []
    startWorker({ name: 'shared' }, (aheadMs) => looks.push(aheadMs) === 0)
    await waitUntil(async () => (await readInterval()) === EVERY_MS)
    await waitUntil(async () => (await readInterval()) === 5 * SECOND)
    expect(await readInterval('look ahead')).to.equal(5 * SECOND)
    await waitUntil(async () => (await readInterval('look ahead')) === 15 * SECOND, 90 * SECOND)
    expect(await readInterval()).to.equal(5 * SECOND)
    expect(looks[0]).to.equal(10 * SECOND)
    // The last short interval already looks over the longer one.
    expect(looks.slice(-2)).to.deep.equal([30 * SECOND, 30 * SECOND])
    listeners.forEach((notify) => notify())
    await waitUntil(async () => (await readInterval()) === EVERY_MS)
  }).timeout(150 * SECOND)

  it('are not begun meanwhile if they name what is due, until that is due soon', async () => {
    let looks = 0
    let isDue = false
    const begun = startWorker({ name: 'named', due: () => sqlFragment`` }, () => {
      looks += 1
      return isDue
    })
    await waitUntil(() => begun.length >= 2)
    expect(looks).to.equal(0)
    // The first look is before they rest.
    await waitUntil(() => looks >= 2)
    const whileIdle = begun.length
    await waitUntil(() => looks >= 3)
    expect(begun.length).to.equal(whileIdle)
    isDue = true
    await waitUntil(() => begun.length >= whileIdle + 8)
  }).timeout(60 * SECOND)
})
