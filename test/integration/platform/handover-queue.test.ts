import { expect } from 'chai'
import { GraphileJobQueue } from '../../../src/platform/jobs/graphile-job-queue.ts'
import { HandoverQueue } from '../../../src/platform/jobs/handover-queue.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { waitUntil } from '../../support/wait-until.ts'

const toJob = (key: string) => ({ task: 'count', tenantId: 'all', key })

describe('HandoverQueue', () => {
  let app: TestApp

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
  })

  after(() => app.stop())

  it('leaves the jobs that wait to other processes when it stops, before it waits for those in progress', async () => {
    const log = createLogger('silent')
    const queue = new HandoverQueue({
      queue: new GraphileJobQueue({ url: app.databaseUrl, log }),
      localTasks: { count: { working: 1, all: 10 } },
      log,
    })
    let end = () => {}
    const ended = new Promise<void>((resolve) => (end = resolve))
    await queue.start({ count: () => ended })
    const { db } = app.system
    queue.enqueue([toJob('one'), toJob('two'), toJob('three')])
    const stopped = queue.stop()
    const listKeys = () => db('graphile_worker.jobs').orderBy('key').pluck<string[]>('key')
    let keys: string[] = []
    await waitUntil(async () => (keys = await listKeys()).length > 0, 5 * SECOND).finally(end)
    await stopped
    expect(keys).to.deep.equal(['count:three', 'count:two'])
  })
})
