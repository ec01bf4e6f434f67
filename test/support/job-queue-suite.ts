import { once, EventEmitter } from 'node:events'
import { expect } from 'chai'
import type { Database } from '../../src/platform/database/database.ts'
import type { Job, Tasks, WorkQueue } from '../../src/platform/jobs/job-queue.ts'
import { startTestApp, type TestApp } from './app.ts'
import { waitUntil } from './wait-until.ts'

const TENANT = '00000000-0000-7000-8000-000000000001'
const toJob = (key: string, task = 'count'): Job => ({ task, tenantId: TENANT, key })

export type Processes = {
  /** The process whose transactions enqueue. */
  enqueuer: WorkQueue
  /** A process with tasks, which may be the same. */
  worker: WorkQueue
  /** Ends both. */
  close: () => Promise<unknown>
}

/** Opens the queues of two processes, or of one, on a database. */
type Open = (url: string) => Promise<Processes>

/** Describes what any job queue does. Each task is executed by all processes. */
export function describeJobQueue(name: string, open: Open): void {
  describe(`jobs of ${name}`, () => {
    let app: TestApp
    let db: Database
    let processes: Processes
    let executed: string[]

    before(async () => {
      app = await startTestApp({ ROLES: 'http' })
      db = app.system.db
    })

    beforeEach(async () => {
      executed = []
      processes = await open(app.databaseUrl)
    })

    afterEach(async () => {
      await processes.close()
      await db('wakeups').delete()
    })

    after(() => app.stop())

    const start = (tasks: Tasks = {}) =>
      processes.worker.start({ count: async ({ key }) => void executed.push(key), ...tasks })
    const enqueue = (...jobs: Job[]) => processes.enqueuer.enqueue(jobs)

    it('two waiting jobs of a key are executed once', async () => {
      for (let count = 0; count < 3; count += 1) enqueue(toJob('same'))
      await start()
      await waitUntil(() => executed.length > 0)
      enqueue(toJob('end'))
      await waitUntil(() => executed.includes('end'))
      expect(executed).to.deep.equal(['same', 'end'])
    })

    it('a key that is enqueued while its job runs is executed again', async () => {
      const release = new EventEmitter()
      const started: string[] = []
      await start({
        hold: async ({ key }) => {
          started.push(key)
          if (started.length === 1) await once(release, 'all')
        },
      })
      enqueue(toJob('same', 'hold'))
      await waitUntil(() => started.length === 1)
      enqueue(toJob('same', 'hold'))
      release.emit('all')
      await waitUntil(() => started.length === 2)
    })

    it('a job that is enqueued after a commit sees its rows, although a job of its key was enqueued before', async () => {
      await db.raw('create table things (name text)')
      const seen: number[] = []
      await start({ look: async () => void seen.push((await db('things')).length) })
      for (let count = 1; count <= 20; count += 1) {
        await db('things').insert({ name: String(count) })
        enqueue(toJob('same', 'look'))
      }
      await waitUntil(() => seen.includes(20))
    })

    it('jobs of two tasks with one key are each executed', async () => {
      await start({ other: async ({ key }) => void executed.push(`other ${key}`) })
      enqueue(toJob('same'), toJob('same', 'other'))
      await waitUntil(() => executed.length === 2)
      expect(executed.toSorted()).to.deep.equal(['other same', 'same'])
    })

    it('a thousand keys of one call are each executed', async () => {
      await start()
      const keys = Array.from({ length: 1000 }, (_, index) => String(index))
      enqueue(...keys.map((key) => toJob(key)))
      await waitUntil(() => executed.length === keys.length)
      expect(new Set(executed).size).to.equal(keys.length)
    })

    it('a handler receives the task, the workspace and the key of its job', async () => {
      const received: Job[] = []
      await start({ look: async (job) => void received.push(job) })
      enqueue(toJob('one', 'look'))
      await waitUntil(() => received.length > 0)
      expect(received).to.deep.equal([toJob('one', 'look')])
    })

    it('a job that throws is followed by later jobs of its key', async () => {
      let attempts = 0
      await start({
        break: async () => {
          attempts += 1
          if (attempts === 1) throw new Error('broken')
        },
      })
      enqueue(toJob('one', 'break'))
      await waitUntil(() => attempts === 1)
      await waitUntil(() => {
        enqueue(toJob('one', 'break'))
        return attempts > 1
      })
    })

    it('a worker leaves jobs of unknown tasks to others', async () => {
      await start()
      enqueue(toJob('of another', 'unknown'), toJob('known'))
      await waitUntil(() => executed.includes('known'))
      await waitUntil(async () => /^[^,]*of another$/.test((await db('wakeups').pluck<string[]>('key')).join()))
    })

    it('a process that stops leaves what it enqueued at last to others', async () => {
      const last = await open(app.databaseUrl)
      last.enqueuer.enqueue([toJob('last')])
      await last.close()
      await start()
      await waitUntil(() => executed.includes('last'))
    })
  })
}
