import { loadConfig } from '../src/config.ts'
import { receiveMessages } from '../src/features/inbound/receive-messages.ts'
import { createTasks } from '../src/jobs.ts'
import { JOB_LIMITS, openDependencies } from '../src/dependencies.ts'
import { WakeupQueue } from '../src/platform/jobs/wakeup-queue.ts'
import { newId } from '../src/platform/ids.ts'
import { createLogger } from '../src/platform/log.ts'
import { systemClock } from '../src/platform/time.ts'
import { SystemScope } from '../src/scope/system-scope.ts'
import { handleCommands } from './bench-process.ts'
import { runConcurrently } from './run-concurrently.ts'

/** Parley without its HTTP server, executing one stage of message processing at a time. */
const config = loadConfig()
const log = createLogger('error')
const parts = await openDependencies(config, { log, clock: systemClock })
const system = new SystemScope(parts)
let jobs: WakeupQueue | undefined

/** Messages to one channel, one from each phone number. */
type Batch = { tenantId: string; channelId: string; phones: string[]; body: string }

const BATCH_SIZE = 50
const CONCURRENCY = 4

handleCommands({
  /** Stores messages in batches, as webhooks with several messages do. */
  async ingest(input: Batch[]) {
    const batches = input.flatMap(({ phones, ...rest }) =>
      Array.from({ length: Math.ceil(phones.length / BATCH_SIZE) }, (_, index) => ({
        ...rest,
        phones: phones.slice(index * BATCH_SIZE, (index + 1) * BATCH_SIZE),
      })),
    )
    await runConcurrently(batches.length, CONCURRENCY, async (index) => {
      const { tenantId, channelId, phones, body } = batches[index] as Batch
      const messages = phones.map((phone) => ({
        providerMessageId: `bench.${newId()}`,
        from: { phone, userId: null, profileName: null, username: null },
        type: 'text',
        body,
        content: null,
        at: systemClock.now(),
      }))
      await receiveMessages(system.forTenant(tenantId), { channelId, messages })
    })
  },

  /** Starts to execute jobs of the given tasks, as a worker does. */
  async startWorker(tasks: string[]) {
    const { notifications } = parts
    jobs = new WakeupQueue({ url: config.database.url ?? '', notifications, limits: JOB_LIMITS, log })
    await jobs.start(Object.fromEntries(Object.entries(createTasks(system)).filter(([name]) => tasks.includes(name))))
  },

  async stopWorker() {
    await jobs?.close()
  },
})
