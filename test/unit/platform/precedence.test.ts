import { mock } from 'node:test'
import { expect } from 'chai'
import type { Job } from '../../../src/platform/jobs/job-queue.ts'
import { JobExecutor } from '../../../src/platform/jobs/job-executor.ts'
import { createLogger } from '../../../src/platform/log.ts'

const toJob = (key: string): Job => ({ task: 'report', tenantId: key, key })

describe('JobExecutor of a task after others', () => {
  let isPreceded: boolean
  let started: { key: string; end: () => void; giveWay: () => Promise<void> | undefined }[]
  let jobs: JobExecutor

  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] })
    isPreceded = true
    started = []
    jobs = new JobExecutor({
      limits: { working: 4, all: 100 },
      log: createLogger('silent'),
      name: 'report',
      isPreceded: () => isPreceded,
      task: ({ key }, { giveWay = () => undefined } = {}) =>
        new Promise<void>((end) => void started.push({ key, end, giveWay })),
    })
  })

  afterEach(() => {
    jobs.stop()
    for (const { end } of started) end()
    mock.timers.reset()
  })

  const listKeys = () => started.map(({ key }) => key)

  it('starts its jobs when nothing comes first any more', () => {
    jobs.add(toJob('a'))
    jobs.add(toJob('b'))
    jobs.resume()
    expect(listKeys()).to.deep.equal([])
    expect(jobs.free).to.equal(0)
    isPreceded = false
    jobs.resume()
    expect(listKeys()).to.deep.equal(['a', 'b'])
  })

  it('starts those that have waited for five seconds nevertheless, and lets later ones wait again', () => {
    jobs.add(toJob('a'))
    jobs.add(toJob('b'))
    mock.timers.tick(4999)
    expect(listKeys()).to.deep.equal([])
    mock.timers.tick(1)
    expect(listKeys()).to.deep.equal(['a', 'b'])
    jobs.add(toJob('c'))
    mock.timers.tick(4999)
    expect(listKeys()).to.deep.equal(['a', 'b'])
    mock.timers.tick(1)
    expect(listKeys()).to.deep.equal(['a', 'b', 'c'])
  })

  it('lets a job at work go on when nothing comes first any more', async () => {
    isPreceded = false
    jobs.add(toJob('a'))
    expect(started[0]?.giveWay()).to.equal(undefined)
    isPreceded = true
    const way = started[0]?.giveWay()
    expect(way).not.to.equal(undefined)
    isPreceded = false
    jobs.resume()
    await way
  })

  it('lets a job at work wait for two seconds in all, and not at all after it has waited for its start', async () => {
    isPreceded = false
    jobs.add(toJob('a'))
    isPreceded = true
    const way = started[0]?.giveWay()
    mock.timers.tick(2000)
    await way
    expect(started[0]?.giveWay()).to.equal(undefined)
    jobs.add(toJob('b'))
    mock.timers.tick(5000)
    expect(listKeys()).to.deep.equal(['a', 'b'])
    expect(started[1]?.giveWay()).to.equal(undefined)
  })

  it('lets nothing wait when it is stopped', async () => {
    isPreceded = false
    jobs.add(toJob('a'))
    isPreceded = true
    const way = started[0]?.giveWay()
    jobs.add(toJob('b'))
    expect(jobs.stop().waiting).to.deep.equal([toJob('b')])
    await way
    expect(listKeys()).to.deep.equal(['a'])
  })
})
