import { once, EventEmitter } from 'node:events'
import { expect } from 'chai'
import type { Database } from '../../../src/platform/database/database.ts'
import type { JobLimits } from '../../../src/platform/jobs/job-executor.ts'
import type { Job, Tasks } from '../../../src/platform/jobs/job-queue.ts'
import type { WakeupQueue } from '../../../src/platform/jobs/wakeup-queue.ts'
import { MINUTE, SECOND } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { openWakeupQueue } from '../../support/wakeup-queues.ts'
import { repeatUntil, waitUntil } from '../../support/wait-until.ts'

const toTenantId = (number: number) => `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`
const [TENANT, OTHER, THIRD] = [toTenantId(1), toTenantId(2), toTenantId(3)]
const toJob = (key: string, tenantId = TENANT): Job => ({ task: 'count', tenantId, key })
const toKeys = (count: number) => Array.from({ length: count }, (_, index) => `key ${index}`)

describe('a queue of wake-ups', () => {
  let app: TestApp
  let db: Database
  const cleanups: (() => Promise<unknown>)[] = []

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
    db = app.system.db
  })

  afterEach(async () => {
    for (const cleanUp of cleanups.splice(0).reverse()) await cleanUp()
    await db('wakeups').delete()
  })

  after(() => app.stop())

  async function open(options: { limits?: JobLimits; pollMs?: number; url?: string } = {}): Promise<WakeupQueue> {
    const { queue, close } = await openWakeupQueue(options.url ?? app.databaseUrl, options)
    cleanups.push(close)
    return queue
  }

  const listKeys = () => db('wakeups').orderBy('key').pluck<string[]>('key')
  const countRows = async () => (await listKeys()).length

  /** Stores more jobs of one workspace than a process may claim in many turns. */
  const insertMany = () =>
    db.raw(
      `insert into wakeups (task, tenant_id, key) select 'count', ?, 'key ' || n from generate_series(1, 3000) n`,
      [TENANT],
    )

  /** A task whose jobs last until the test says so, or ends. */
  function createHeldTask() {
    const emitter = new EventEmitter().setMaxListeners(0)
    const started: string[] = []
    let isOpen = false
    const endAll = async () => {
      isOpen = true
      emitter.emit('all')
    }
    cleanups.push(endAll)
    const tasks: Tasks = {
      async count({ key }) {
        started.push(key)
        if (!isOpen) await once(emitter, 'all')
      },
    }
    return { started, tasks, endAll }
  }

  /** Enqueues a job without a notification, and returns the time until it starts. */
  async function measureDelay(started: string[]): Promise<number> {
    const key = `without a notification ${started.length}`
    const enqueuedAt = performance.now()
    await db('wakeups').insert({ task: 'count', tenant_id: TENANT, key })
    await waitUntil(() => started.includes(key))
    return performance.now() - enqueuedAt
  }

  async function expectDelayAtMost(maxMs: number, started: string[]): Promise<void> {
    const isInTime = (delayMs: number) => delayMs < maxMs + SECOND / 2
    expect(await repeatUntil(() => measureDelay(started), isInTime)).to.satisfy(isInTime)
  }

  it('a lost notification delays a job by two seconds at most after another job', async () => {
    const worker = await open()
    const started: string[] = []
    await worker.start({ count: async ({ key }) => void started.push(key) })
    await (await open()).shared.enqueue([toJob('first')])
    await waitUntil(() => started.length === 1)
    await expectDelayAtMost(2 * SECOND, started)
  })

  it('a worker polls a third as often while there is nothing to claim, and goes back to its rhythm with a job', async () => {
    // A trigger per statement fires although no job waits.
    await db.raw(`create table polls (at timestamptz);
      create function record() returns trigger language plpgsql as $$
        begin insert into polls values (clock_timestamp()); return null; end $$;
      create trigger record before delete on wakeups execute function record()`)
    cleanups.push(() => db.raw('drop function record cascade; drop table polls'))
    const pollMs = 200
    const shortestMs = pollMs * 0.75
    /** Returns the times between the latest polls, the newest first. */
    const listGaps = async () => {
      const times = await db('polls').orderBy('at', 'desc').limit(5).pluck<Date[]>('at')
      return times.slice(1).map((at, index) => (times[index]?.getTime() ?? 0) - at.getTime())
    }
    const worker = await open({ pollMs })
    const started: string[] = []
    await worker.start({ count: async ({ key }) => void started.push(key) })
    const isQuiet = (gaps: number[]) => gaps.length === 4 && gaps.every((gapMs) => gapMs >= 3 * shortestMs - 5)
    await waitUntil(async () => isQuiet(await listGaps()))
    await measureDelay(started)
    await waitUntil(async () => ((await listGaps())[0] ?? 0) > shortestMs && !isQuiet(await listGaps()))
    await waitUntil(async () => isQuiet(await listGaps()))
  })

  it('a lost notification delays a job by two seconds at most also while there are notifications of others', async () => {
    const [enqueuer, worker] = [await open(), await open()]
    const started: string[] = []
    await worker.start({ count: async ({ key }) => void started.push(key), other: async () => undefined })
    const others = setInterval(() => enqueuer.enqueue([{ ...toJob('often'), task: 'other' }]), 100)
    cleanups.push(async () => clearInterval(others))
    enqueuer.enqueue([toJob('first')])
    await waitUntil(() => started.length === 1)
    await expectDelayAtMost(2 * SECOND, started)
  })

  it('a worker whose own jobs take all of its places executes those of others in turn', async () => {
    const [enqueuer, worker] = [await open(), await open({ limits: { working: 1, all: 100 } })]
    const executed = new Set<string>()
    let isOver = false
    cleanups.push(async () => (isOver = true))
    await worker.start({
      async count({ key, tenantId }) {
        executed.add(key)
        // As a job does that has done a part of what is due.
        if (key.startsWith('own') && !isOver) worker.enqueue([toJob(key, tenantId)])
        await new Promise(setImmediate)
      },
    })
    worker.enqueue([toJob('own 1', TENANT), toJob('own 2', OTHER)])
    await waitUntil(() => executed.size === 2)
    enqueuer.enqueue([toJob('of another', THIRD)])
    await waitUntil(() => executed.has('of another'))
  })

  it('keys that have no room do not hide the jobs of others', async () => {
    const limits = { working: 4, releasedPerKey: 1, all: 100 }
    const [enqueuer, worker] = [await open(), await open({ limits })]
    const { started, tasks } = createHeldTask()
    const jobs = toKeys(8).map((key, index) => toJob(key, toTenantId(10 + index)))
    await worker.start(tasks)
    worker.enqueue(jobs)
    // The last four begin when the first four have released their places.
    await waitUntil(() => started.length === 8)
    enqueuer.enqueue([...jobs.slice(0, 4), toJob('of another', toTenantId(20))])
    await waitUntil(() => started.includes('of another'))
  })

  it('a worker claims as many jobs as it has free places, and leaves the others to others', async () => {
    // No poll of the first worker, which would take some that have to wait.
    const limits = { working: 4, all: 4 }
    const [enqueuer, one, other] = [await open(), await open({ limits, pollMs: MINUTE }), await open()]
    const { started, tasks } = createHeldTask()
    // Each of another workspace, as one may have a part of the places.
    const jobs = toKeys(10).map((key, index) => toJob(key, toTenantId(index)))
    enqueuer.enqueue(jobs)
    await waitUntil(async () => (await countRows()) === 10)
    await one.start(tasks)
    await waitUntil(() => started.length === 4)
    expect(await countRows()).to.equal(6)
    const executed: string[] = []
    await other.start({ count: async ({ key }) => void executed.push(key) })
    await waitUntil(() => executed.length === 6)
    expect(started).to.have.length(4)
  })

  it('a worker whose place becomes free claims the next job at once', async () => {
    // No poll, so that only claims at once execute all of them.
    const [enqueuer, worker] = [await open(), await open({ limits: { working: 1, all: 1 }, pollMs: MINUTE })]
    const executed: string[] = []
    enqueuer.enqueue(toKeys(200).map((key) => toJob(key)))
    await waitUntil(async () => (await countRows()) === 200)
    await worker.start({ count: async ({ key }) => void executed.push(key) })
    await waitUntil(() => executed.length === 200)
  })

  it('a workspace with thousands of waiting jobs delays that of another one by two jobs at most', async () => {
    const [enqueuer, worker] = [await open(), await open({ limits: { working: 1, all: 100 } })]
    const executed: string[] = []
    await insertMany()
    let before = 0
    await worker.start({
      async count({ key }) {
        executed.push(key)
        if (executed.length !== 5) return
        enqueuer.enqueue([toJob('of another', OTHER)])
        await waitUntil(async () => (await listKeys()).includes('of another'))
        before = executed.length
      },
    })
    await waitUntil(() => executed.includes('of another'))
    expect(executed.indexOf('of another') - before).to.be.at.most(2)
  })

  it('a task with thousands of waiting jobs does not delay one of another task', async () => {
    const [enqueuer, worker] = [await open(), await open({ limits: { working: 1, all: 100 } })]
    const executed: string[] = []
    await insertMany()
    const add = async ({ task }: Job) => {
      executed.push(task)
      if (executed.length === 5) enqueuer.enqueue([{ ...toJob('of another task'), task: 'other' }])
    }
    await worker.start({ count: add, other: add })
    await waitUntil(() => executed.includes('other'))
    expect(executed.indexOf('other')).to.be.lessThan(1000)
  })

  it('a workspace that has its part of the places does not hide the jobs of others', async () => {
    const [enqueuer, worker] = [await open(), await open({ limits: { working: 4, all: 8 } })]
    const { started, tasks } = createHeldTask()
    await insertMany()
    await worker.start(tasks)
    await waitUntil(() => started.length > 0)
    enqueuer.enqueue([toJob('of another', OTHER)])
    await waitUntil(() => started.includes('of another'))
  })

  it('what waits is left to other processes when a worker stops, before it waits for the jobs in progress', async () => {
    const queue = await open({ limits: { working: 1, all: 10 } })
    const { started, tasks, endAll } = createHeldTask()
    await queue.start(tasks)
    queue.enqueue([toJob('one'), toJob('two'), toJob('three')])
    let hasStopped = false
    const stopped = queue.stop().then(() => (hasStopped = true))
    await waitUntil(async () => (await countRows()) === 2)
    expect(hasStopped).to.equal(false)
    await endAll()
    await stopped
    expect(started).to.deep.equal(['one'])
    expect(await listKeys()).to.deep.equal(['three', 'two'])
  })

  it('what is enqueued after a worker has stopped is left to other processes', async () => {
    const queue = await open()
    await queue.start({ count: async () => undefined })
    await queue.stop()
    queue.enqueue([toJob('late')])
    await waitUntil(async () => (await countRows()) === 1)
  })

  it('a worker that stops claims nothing more', async () => {
    const [enqueuer, worker] = [await open(), await open()]
    const { started, tasks } = createHeldTask()
    await worker.start(tasks)
    await worker.stop()
    enqueuer.enqueue([toJob('one')])
    await waitUntil(async () => (await countRows()) === 1)
    expect(started).to.deep.equal([])
  })

  it('the jobs in progress learn that the worker stops, and it waits for them', async () => {
    const queue = await open()
    let isStarted = false
    let isFinished = false
    await queue.start({
      async count(_, control) {
        isStarted = true
        await waitUntil(() => control?.signal?.aborted === true)
        isFinished = true
      },
    })
    queue.enqueue([toJob('one')])
    await waitUntil(() => isStarted)
    await queue.stop()
    expect(isFinished).to.equal(true)
  })

  it('processes that enqueue the same keys in opposite orders do not fail', async () => {
    const [one, other] = [await open(), await open()]
    const jobs = toKeys(1000).map((key) => toJob(key))
    one.enqueue(jobs)
    other.enqueue(jobs.toReversed())
    await waitUntil(() => one.isIdle && other.isIdle)
    expect(await countRows()).to.equal(1000)
  })

  describe('whose claims fail although the database answers', () => {
    let worker: WakeupQueue
    let reports: number

    beforeEach(async () => {
      const url = new URL(app.databaseUrl)
      url.searchParams.set('application_name', 'faulty')
      // A trigger per statement fires although no job waits.
      await db.raw(`create function refuse() returns trigger language plpgsql as $$
        begin
          if current_setting('application_name') = 'faulty' and exists (select from faults) then raise 'away'; end if;
          return null;
        end $$;
        create table faults ();
        create trigger refuse before delete on wakeups execute function refuse()`)
      cleanups.push(() => db.raw('drop function refuse cascade; drop table faults'))
      worker = await open({ url: url.href, pollMs: 50 })
      reports = 0
    })

    const makeFaulty = () => db.raw('insert into faults default values')

    it('is stuck after some polls, reports it once after more, and is not stuck any more when they succeed', async () => {
      await worker.start({ count: async () => undefined }, () => (reports += 1))
      expect(worker.isStuck).to.equal(false)
      await makeFaulty()
      await waitUntil(() => worker.isStuck)
      expect(reports).to.equal(0)
      await waitUntil(() => reports > 0)
      await db.raw('truncate faults')
      await waitUntil(() => !worker.isStuck)
      expect(reports).to.equal(1)
    })

    it('leaves the jobs to other workers, and takes them again later', async () => {
      const [enqueuer, healthy] = [await open(), await open()]
      const executed: string[] = []
      await worker.start({ count: async ({ key }) => void executed.push(`faulty ${key}`) })
      await makeFaulty()
      enqueuer.enqueue([toJob('one')])
      await waitUntil(async () => (await countRows()) === 1)
      await healthy.start({ count: async ({ key }) => void executed.push(`healthy ${key}`) })
      await waitUntil(() => executed.length === 1)
      await healthy.stop()
      await db.raw('truncate faults')
      enqueuer.enqueue([toJob('two')])
      await waitUntil(() => executed.length === 2)
      expect(executed).to.deep.equal(['healthy one', 'faulty two'])
    })
  })

  it('is not stuck while the database cannot be reached, leaves no unhandled rejection, and goes on afterwards', async () => {
    const proxy = await TcpProxy.start(app.databaseUrl)
    cleanups.push(async () => proxy.stop())
    const cut = await open({ url: proxy.through(app.databaseUrl), pollMs: 20 })
    const enqueuer = await open()
    const rejections: unknown[] = []
    const listeners = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', (reason) => rejections.push(reason))
    cleanups.push(async () => {
      process.removeAllListeners('unhandledRejection')
      for (const listener of listeners) process.on('unhandledRejection', listener)
    })
    const executed = new Set<string>()
    await cut.start({ count: async ({ key }) => void executed.add(key) })
    cut.shared.enqueue([toJob('before')])
    await waitUntil(() => executed.has('before'))
    await proxy.refuse()
    cut.shared.enqueue([toJob('lost')])
    enqueuer.enqueue(toKeys(24).map((key) => toJob(key)))
    cut.enqueue([toJob('own')])
    await waitUntil(() => executed.has('own'))
    await waitUntil(async () => (await countRows()) === 24)
    expect(cut.isStuck).to.equal(false)
    await proxy.accept()
    await waitUntil(() => executed.size === 26, 30 * SECOND)
    expect(rejections).to.deep.equal([])
  })
})
