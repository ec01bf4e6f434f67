import { describeJobQueue } from '../../support/job-queue-suite.ts'
import { openWakeupQueue } from '../../support/wakeup-queues.ts'

describeJobQueue('two processes', async (url) => {
  const [one, other] = await Promise.all([openWakeupQueue(url), openWakeupQueue(url)])
  return { enqueuer: one.queue, worker: other.queue, close: () => Promise.all([one.close(), other.close()]) }
})

describeJobQueue('a process that executes what it enqueues', async (url) => {
  const { queue, close } = await openWakeupQueue(url)
  return { enqueuer: queue, worker: queue, close }
})
