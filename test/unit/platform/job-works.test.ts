import { expect } from 'chai'
import type { Job } from '../../../src/platform/jobs/job-queue.ts'
import { JobExecutor } from '../../../src/platform/jobs/job-executor.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { waitUntil } from '../../support/wait-until.ts'

const toJob = (key: string): Job => ({ task: 'count', tenantId: key, key })

const cleanups: (() => void)[] = []

/** Jobs that claim works from a backlog by workspace, which end when the test says so. */
function createSpreading({ all, backlog }: { all: number; backlog: Record<string, number> }) {
  const ends: { tenantId: string; end: () => void }[] = []
  let claims = Promise.resolve()
  const jobs: JobExecutor = new JobExecutor({
    limits: { working: 2, all },
    log: createLogger('silent'),
    name: 'count',
    async task(job, { spread } = {}) {
      const { tenantId } = job
      const hasMore = await spread?.(async (limit) => {
        await claims
        const count = Math.min(backlog[tenantId] ?? 0, limit)
        backlog[tenantId] = (backlog[tenantId] ?? 0) - count
        return Array.from({ length: count }, () => () => new Promise((end) => ends.push({ tenantId, end })))
      })
      if (hasMore) jobs.add(job)
    },
  })
  const countWorks = (tenantId: string) => ends.filter((work) => work.tenantId === tenantId).length
  const endAll = () => ends.splice(0).forEach(({ end }) => end())
  cleanups.push(() => {
    jobs.stop()
    endAll()
  })
  return { jobs, countWorks, endAll, holdClaims: (until: Promise<void>) => void (claims = until) }
}

describe('JobExecutor of jobs that spread', () => {
  afterEach(() => {
    for (const cleanUp of cleanups.splice(0)) cleanUp()
  })

  it('lets a job spread to as many places as its workspace may have, and to further ones when works end', async () => {
    const { jobs, countWorks, endAll } = createSpreading({ all: 100, backlog: { a: 45 } })
    jobs.add(toJob('a'))
    for (const count of [20, 20, 5]) {
      await waitUntil(() => countWorks('a') === count)
      expect(jobs.isIdle).to.equal(false)
      endAll()
    }
    await waitUntil(() => jobs.isIdle)
  })

  it('ends, when it is stopped, after the works that a job claims meanwhile', async () => {
    const { jobs, countWorks, endAll, holdClaims } = createSpreading({ all: 100, backlog: { a: 3 } })
    let claim = () => {}
    holdClaims(new Promise((resolve) => (claim = resolve)))
    jobs.add(toJob('a'))
    let isEnded = false
    const ended = jobs.stop().ended.then(() => (isEnded = true))
    claim()
    await waitUntil(() => countWorks('a') === 3)
    await new Promise((resolve) => setImmediate(resolve))
    expect(isEnded).to.equal(false)
    endAll()
    await ended
  })

  it('leaves places to the works of others, however many workspaces spread', async () => {
    const floods = Array.from({ length: 8 }, (_, n) => `flood ${n}`)
    const backlog = { ...Object.fromEntries(floods.map((key) => [key, 1000])), drop: 1 }
    const { jobs, countWorks } = createSpreading({ all: 20, backlog })
    for (const key of floods) jobs.add(toJob(key))
    await waitUntil(() => floods.every((key) => countWorks(key) > 0))
    jobs.add(toJob('drop'))
    await waitUntil(() => countWorks('drop') === 1)
  })

  it('spreads a new job of a key while works of an earlier one are in progress', async () => {
    const backlog: Record<string, number> = { a: 1 }
    const { jobs, countWorks } = createSpreading({ all: 100, backlog })
    jobs.add(toJob('a'))
    await waitUntil(() => countWorks('a') === 1)
    backlog['a'] = 1
    jobs.add(toJob('a'))
    await waitUntil(() => countWorks('a') === 2)
  })

  it('never has more works than places, although jobs claim at the same time', async () => {
    const { jobs, countWorks, holdClaims } = createSpreading({ all: 4, backlog: { a: 9, b: 9, c: 9, d: 9, e: 9 } })
    let goOn = () => {}
    holdClaims(new Promise((resolve) => (goOn = resolve)))
    const keys = ['a', 'b', 'c', 'd', 'e']
    for (const key of keys) jobs.add(toJob(key))
    goOn()
    const count = () => keys.reduce((sum, key) => sum + countWorks(key), 0)
    await waitUntil(() => count() > 1)
    expect(count()).to.be.lessThan(5)
  })

  it('has its places again after a claim has failed', async () => {
    const { jobs, countWorks, holdClaims } = createSpreading({ all: 4, backlog: { a: 9 } })
    holdClaims(Promise.reject(new Error('away')))
    jobs.add(toJob('a'))
    await waitUntil(() => jobs.isIdle)
    holdClaims(Promise.resolve())
    jobs.add(toJob('a'))
    await waitUntil(() => countWorks('a') === 1)
  })

  it('stops after its works have ended', async () => {
    const { jobs, countWorks, endAll } = createSpreading({ all: 4, backlog: { a: 1 } })
    jobs.add(toJob('a'))
    await waitUntil(() => countWorks('a') === 1)
    let isStopped = false
    const stopped = jobs.stop().ended.then(() => (isStopped = true))
    await Promise.resolve()
    expect(isStopped).to.equal(false)
    endAll()
    await stopped
  })
})
