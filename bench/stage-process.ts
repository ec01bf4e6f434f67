import { loadConfig } from '../src/config.ts'
import { receiveMessages } from '../src/features/inbound/receive-messages.ts'
import { createTasks } from '../src/jobs.ts'
import { openDependencies } from '../src/dependencies.ts'
import { GraphileJobQueue } from '../src/platform/jobs/graphile-job-queue.ts'
import { newId } from '../src/platform/ids.ts'
import { createLogger } from '../src/platform/log.ts'
import { systemClock } from '../src/platform/time.ts'
import { SystemScope } from '../src/scope.ts'
import { takeOrders } from './bench-process.ts'
import { inParallel } from './measure.ts'

/** Parley without its doors, one stage of the work at a time. */
const config = loadConfig()
const log = createLogger('error')
const parts = await openDependencies(config, { log, clock: systemClock })
const system = new SystemScope(parts)
let jobs: GraphileJobQueue | undefined

export type Written = { tenantId: string; channelId: string; phones: string[]; body: string }

const BATCH = 50
const WIDTH = 4

takeOrders({
  /** Stores messages as webhooks would that come in batches. */
  async ingest(written: Written[]) {
    const batches = written.flatMap(({ phones, ...batch }) =>
      Array.from({ length: Math.ceil(phones.length / BATCH) }, (_, n) => ({
        ...batch,
        phones: phones.slice(n * BATCH, (n + 1) * BATCH),
      })),
    )
    await inParallel(batches.length, WIDTH, async (n) => {
      const { tenantId, channelId, phones, body } = batches[n] as Written
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

  /** Answers bells of these kinds from now on, as a worker does. */
  async work(tasks: string[]) {
    jobs = new GraphileJobQueue({ url: config.database.url ?? '', log })
    await jobs.start(Object.fromEntries(Object.entries(createTasks(system)).filter(([name]) => tasks.includes(name))))
  },

  async rest() {
    await jobs?.stop()
  },
})
