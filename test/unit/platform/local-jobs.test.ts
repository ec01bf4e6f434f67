import { expect } from 'chai'
import type { Job } from '../../../src/platform/jobs/job-queue.ts'
import { LocalJobs, type LocalLimits } from '../../../src/platform/jobs/local-jobs.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { waitUntil } from '../../support/wait-until.ts'

const toJob = (key: string): Job => ({ task: 'count', key, payload: { key } })

/** Jobs that end when the test says so. */
function createJobs(limits: LocalLimits) {
  const started: { key: string; end: (error?: Error) => void; release: () => void }[] = []
  const jobs = new LocalJobs({
    limits,
    log: createLogger('silent'),
    task: ({ key = '' }, _signal, release = () => undefined) =>
      new Promise<void>((resolve, reject) => {
        started.push({ key, release, end: (error) => (error ? reject(error) : resolve()) })
      }),
  })
  const add = (...keys: string[]) => keys.forEach((key) => jobs.add(toJob(key)))
  const listKeys = () => started.map(({ key }) => key)
  return { jobs, started, add, listKeys }
}

describe('LocalJobs', () => {
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
