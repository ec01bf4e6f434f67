import { expect } from 'chai'
import type { Job } from '../../../src/platform/jobs/job-queue.ts'
import { JobExecutor, type JobLimits } from '../../../src/platform/jobs/job-executor.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { waitUntil } from '../../support/wait-until.ts'

const toJob = (key: string, tenantId = key): Job => ({ task: 'count', tenantId, key })

/** Ends what a test has left: each job has a timer, which would keep the process. */
const cleanups: (() => void)[] = []

/** Jobs that end when the test says so. */
function createJobs({ all = 100, ...limits }: Partial<JobLimits> & { working: number }) {
  const started: { key: string; end: (error?: Error) => void; release: () => void }[] = []
  const jobs = new JobExecutor({
    limits: { ...limits, all },
    log: createLogger('silent'),
    name: 'count',
    task: ({ key }, { release = () => undefined } = {}) =>
      new Promise<void>((resolve, reject) => {
        started.push({ key, release, end: (error) => (error ? reject(error) : resolve()) })
      }),
  })
  cleanups.push(() => {
    jobs.stop()
    for (const { end } of started) end()
  })
  const add = (...keys: string[]) => keys.forEach((key) => jobs.add(toJob(key)))
  const listKeys = () => started.map(({ key }) => key)
  return { jobs, started, add, listKeys }
}

describe('JobExecutor', () => {
  afterEach(() => {
    for (const cleanUp of cleanups.splice(0)) cleanUp()
  })

  it('executes at most as many jobs at once as it may, in the order in which they were added', async () => {
    const { started, add, listKeys } = createJobs({ working: 2 })
    add('a', 'b', 'c')
    expect(listKeys()).to.deep.equal(['a', 'b'])
    started[1]?.end()
    await waitUntil(() => started.length === 3)
    expect(listKeys()).to.deep.equal(['a', 'b', 'c'])
  })

  it('executes jobs of one key one after the other, and merges those that wait', async () => {
    const { jobs, started, add, listKeys } = createJobs({ working: 2 })
    add('a', 'a', 'a')
    expect(listKeys()).to.deep.equal(['a'])
    started[0]?.end()
    await waitUntil(() => started.length === 2)
    started[1]?.end()
    await waitUntil(() => jobs.isIdle)
    expect(listKeys()).to.deep.equal(['a', 'a'])
  })

  it('executes the next job of a key when one has released its place, up to a limit', async () => {
    const { started, add, listKeys } = createJobs({ working: 1, releasedPerKey: 2 })
    for (let count = 1; count <= 3; count += 1) {
      add('a')
      started[count - 1]?.release()
    }
    expect(listKeys()).to.deep.equal(['a', 'a'])
    add('b')
    expect(listKeys()).to.deep.equal(['a', 'a', 'b'])
    started[0]?.end()
    started[2]?.end()
    await waitUntil(() => started.length === 4)
    expect(listKeys()).to.deep.equal(['a', 'a', 'b', 'a'])
  })

  it('executes at most as many jobs at once as it may, released ones included', async () => {
    const { started, add, listKeys } = createJobs({ working: 2, all: 3 })
    add('a', 'b', 'c', 'd')
    started[0]?.release()
    expect(listKeys()).to.deep.equal(['a', 'b', 'c'])
    started[1]?.release()
    started[2]?.release()
    expect(listKeys()).to.deep.equal(['a', 'b', 'c'])
    started[0]?.end()
    await waitUntil(() => started.length === 4)
    expect(listKeys()).to.deep.equal(['a', 'b', 'c', 'd'])
  })

  it('leaves places to others, however many jobs of a workspace or of several have released theirs', () => {
    const { jobs, started, listKeys } = createJobs({ working: 2, all: 100 })
    const add = (tenantId: string, count: number) => {
      for (let n = 0; n < count; n += 1) {
        jobs.add(toJob(`${tenantId}:${n}`, tenantId))
        for (const { release } of started) release()
      }
    }
    const countKeys = (tenantId: string) => listKeys().filter((key) => key.startsWith(`${tenantId}:`)).length
    add('a', 100)
    expect(countKeys('a')).to.equal(20)
    for (let n = 0; n < 7; n += 1) add(`b${n}`, 100)
    add('c', 1)
    expect(countKeys('c')).to.equal(1)
    expect(jobs.reserve(toJob('d'))).not.to.equal(undefined)
    expect(jobs.reserve(toJob('a'))).to.equal(undefined)
  })

  it('lets workspaces take turns, and within one its keys', async () => {
    const { jobs, started, listKeys } = createJobs({ working: 1 })
    for (const key of ['a1', 'a2', 'a3', 'b1', 'b2']) jobs.add(toJob(key, key.slice(0, 1)))
    for (let count = 1; count < 5; count += 1) {
      started[count - 1]?.end()
      await waitUntil(() => started.length > count)
    }
    expect(listKeys()).to.deep.equal(['a1', 'a2', 'b1', 'a3', 'b2'])
  })

  it('does not walk the 50,000 jobs of a workspace that wait for a place, when another job is added', function () {
    this.timeout(5_000)
    const { jobs, started, listKeys } = createJobs({ working: 2, all: 100 })
    const add = (key: string, tenantId: string) => jobs.add(toJob(key, tenantId))
    for (let n = 0; n < 50_000; n += 1) {
      add(`a${n}`, 'a')
      started[n]?.release()
    }
    for (let n = 0; n < 1_000; n += 1) add('b', 'b')
    expect(listKeys().filter((key) => key.startsWith('a'))).to.have.length(20)
    expect(listKeys().filter((key) => key === 'b')).to.have.length(1)
  })

  it('executes further jobs while one takes long', async () => {
    const { started, add, listKeys } = createJobs({ working: 1, releasedPerKey: 1 })
    add('a', 'b')
    expect(listKeys()).to.deep.equal(['a'])
    await waitUntil(() => started.length === 2)
    expect(listKeys()).to.deep.equal(['a', 'b'])
  })

  it('executes further jobs after one that failed', async () => {
    const { started, add, listKeys } = createJobs({ working: 1 })
    add('a', 'b')
    started[0]?.end(new Error('failed'))
    await waitUntil(() => started.length === 2)
    expect(listKeys()).to.deep.equal(['a', 'b'])
  })

  it('keeps a place for other work among those that were released, until that has ended', async () => {
    const { jobs, started, add, listKeys } = createJobs({ working: 1, releasedPerKey: 1 })
    const place = jobs.reserve(toJob('a'))
    add('a')
    expect(listKeys()).to.deep.equal([])
    const ends: (() => void)[] = []
    place?.take(() => new Promise((resolve) => ends.push(resolve)))
    await waitUntil(() => ends.length === 1)
    expect(jobs.isIdle).to.equal(false)
    ends[0]?.()
    await waitUntil(() => started.length === 1)
    expect(listKeys()).to.deep.equal(['a'])
  })

  it('keeps no place for a key that has a job, waiting or at work or released, or a place', () => {
    const { jobs, started, add } = createJobs({ working: 1 })
    add('a', 'b')
    started[0]?.release()
    add('c')
    const keys = ['a', 'b', 'c', 'd', 'd']
    expect(keys.map((key) => jobs.reserve(toJob(key)) !== undefined)).to.deep.equal([false, false, false, true, false])
  })

  it('keeps the places of jobs at work for them, and a further one when a place was left', async () => {
    const { jobs } = createJobs({ working: 1, all: 2 })
    const place = jobs.reserve(toJob('b'))
    expect(jobs.reserve(toJob('c'))).to.equal(undefined)
    place?.leave()
    await waitUntil(() => {
      const next = jobs.reserve(toJob('c'))
      next?.leave()
      return next !== undefined
    })
  })

  it('does no work in a place that was left', async () => {
    const { jobs } = createJobs({ working: 1 })
    const place = jobs.reserve(toJob('a'))
    let isDone = false
    place?.leave()
    place?.take(async () => void (isDone = true))
    await waitUntil(() => jobs.isIdle)
    expect(isDone).to.equal(false)
  })

  it('keeps no place after it was stopped, and ends after the work in a place that was kept before', async () => {
    const { jobs } = createJobs({ working: 1 })
    const place = jobs.reserve(toJob('a'))
    const { ended } = jobs.stop()
    expect(jobs.reserve(toJob('b'))).to.equal(undefined)
    let isDone = false
    place?.take(async () => void (isDone = true))
    await ended
    expect(isDone).to.equal(true)
  })

  it('starts none after it was stopped and returns those that wait', async () => {
    const { jobs, started, add, listKeys } = createJobs({ working: 1 })
    add('a', 'b')
    const { waiting, ended } = jobs.stop()
    started[0]?.end()
    await ended
    expect(waiting.map(({ key }) => key)).to.deep.equal(['b'])
    expect(listKeys()).to.deep.equal(['a'])
  })
})
