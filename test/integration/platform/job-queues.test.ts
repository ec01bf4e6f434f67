import { GraphileJobQueue } from '../../../src/platform/jobs/graphile-job-queue.ts'
import { HandoverQueue } from '../../../src/platform/jobs/handover-queue.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { describeJobQueue } from '../../support/job-queue-suite.ts'
import { openWakeupQueue } from '../../support/wakeup-queues.ts'

const log = createLogger('silent')
const LIMITS = { working: 4, all: 100 }
const LOCAL = { count: LIMITS, look: LIMITS, break: LIMITS, hold: LIMITS, other: LIMITS }
const TABLE = { table: 'graphile_worker._private_jobs' }

const openShared = (url: string) => new GraphileJobQueue({ url, log })
const openHandover = (url: string) => new HandoverQueue({ queue: openShared(url), localTasks: LOCAL, log })

describeJobQueue('a queue in the database, of two processes', {
  ...TABLE,
  open: async (url) => {
    const [enqueuer, worker] = [openShared(url), openShared(url)]
    return { enqueuer, worker, close: () => Promise.all([enqueuer.stop(), worker.stop()]) }
  },
})

describeJobQueue('processes that execute what they take themselves, of two processes', {
  ...TABLE,
  open: async (url) => {
    const [enqueuer, worker] = [openHandover(url), openHandover(url)]
    return { enqueuer, worker, close: () => Promise.all([enqueuer.stop(), worker.stop()]) }
  },
})

describeJobQueue('a process that executes what it enqueues', {
  ...TABLE,
  open: async (url) => {
    const queue = openHandover(url)
    return { enqueuer: queue, worker: queue, close: () => queue.stop() }
  },
})

describeJobQueue('wake-ups, of two processes', {
  table: 'wakeups',
  open: async (url) => {
    const [one, other] = await Promise.all([openWakeupQueue(url), openWakeupQueue(url)])
    return { enqueuer: one.queue, worker: other.queue, close: () => Promise.all([one.close(), other.close()]) }
  },
})

describeJobQueue('wake-ups, of a process that executes what it enqueues', {
  table: 'wakeups',
  open: async (url) => {
    const { queue, close } = await openWakeupQueue(url)
    return { enqueuer: queue, worker: queue, close }
  },
})
