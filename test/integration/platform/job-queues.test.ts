import { GraphileJobQueue } from '../../../src/platform/jobs/graphile-job-queue.ts'
import { HandoverQueue } from '../../../src/platform/jobs/handover-queue.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { describeJobQueue } from '../../support/job-queue-suite.ts'

const log = createLogger('silent')
const LIMITS = { working: 4, all: 100 }
const LOCAL = { count: LIMITS, look: LIMITS, break: LIMITS, hold: LIMITS, other: LIMITS }
const TABLE = { table: 'graphile_worker._private_jobs' }

const openShared = (url: string) => new GraphileJobQueue({ url, log })
const openHandover = (url: string) => new HandoverQueue({ queue: openShared(url), localTasks: LOCAL, log })

describeJobQueue('a queue in the database, of two processes', {
  ...TABLE,
  open: async (url) => ({ enqueuer: openShared(url), worker: openShared(url) }),
})

describeJobQueue('processes that execute what they take themselves, of two processes', {
  ...TABLE,
  open: async (url) => ({ enqueuer: openHandover(url), worker: openHandover(url) }),
})

describeJobQueue('a process that executes what it enqueues', {
  ...TABLE,
  open: async (url) => {
    const queue = openHandover(url)
    return { enqueuer: queue, worker: queue }
  },
})
