import type { JobLimits } from '../../src/platform/jobs/job-executor.ts'
import { WakeupQueue } from '../../src/platform/jobs/wakeup-queue.ts'
import { createLogger } from '../../src/platform/log.ts'
import { PostgresNotifications } from '../../src/platform/notifications/postgres.ts'

const log = createLogger('silent')
const TASKS = ['count', 'look', 'break', 'hold', 'other']

type Options = {
  limits?: JobLimits
  /** Limits of each task, instead of those for the tasks of tests. */
  limitsByTask?: Record<string, JobLimits>
  pollMs?: number
}

/** A queue with the connections that one process has. */
export type QueueOfProcess = { queue: WakeupQueue; close: () => Promise<void> }

export async function openWakeupQueue(
  url: string,
  { limits = { working: 4, all: 100 }, limitsByTask, pollMs }: Options = {},
): Promise<QueueOfProcess> {
  const notifications = new PostgresNotifications({ url, log })
  await notifications.open()
  const queue = new WakeupQueue({
    url,
    preparesStatements: true,
    notifications,
    limits: limitsByTask ?? Object.fromEntries(TASKS.map((task) => [task, limits])),
    log,
    ...(pollMs === undefined ? {} : { pollMs }),
  })
  return {
    queue,
    async close() {
      await queue.close()
      await notifications.close()
    },
  }
}
