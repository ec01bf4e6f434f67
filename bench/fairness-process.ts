import { setTimeout as delay } from 'node:timers/promises'
import { loadConfig } from '../src/config.ts'
import { advanceMailboxes } from '../src/features/execution/engine-port.ts'
import { createTasks } from '../src/jobs.ts'
import { openDependencies } from '../src/dependencies.ts'
import { createLogger } from '../src/platform/log.ts'
import { systemClock } from '../src/platform/time.ts'
import { SystemScope } from '../src/scope/system-scope.ts'
import { handleCommands } from './bench-process.ts'

/** A worker as in production, or one that processes mailbox items strictly in order of arrival. */
const config = loadConfig()
const log = createLogger('error')
const dependencies = await openDependencies(config, { log, clock: systemClock })
const system = new SystemScope(dependencies)

async function startQueue(tasks: string[]): Promise<void> {
  await dependencies.jobs.start(
    Object.fromEntries(Object.entries(createTasks(system)).filter(([name]) => tasks.includes(name))),
  )
}

async function advanceOldestFirst(): Promise<never> {
  for (;;) {
    const oldest = await system
      .db('mailbox_items')
      .where('due_at', '<=', system.now())
      .orderBy('id')
      .first<{ tenant_id: string } | undefined>('tenant_id')
    if (oldest) await advanceMailboxes(system, { tenantId: oldest.tenant_id })
    else await delay(5)
  }
}

handleCommands({
  startFairWorker: () => startQueue(['advance', 'deliver']),
  async startFifoWorker() {
    await startQueue(['deliver'])
    void advanceOldestFirst()
  },
})
