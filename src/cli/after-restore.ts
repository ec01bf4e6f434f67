import { type Config, loadConfig, readEnvironment } from '../config.ts'
import { openDependencies } from '../dependencies.ts'
import { countUnsettled, hasUnsettled, type Unsettled } from '../features/restore/count-unsettled.ts'
import { doubtBroadcasts } from '../features/restore/doubt-broadcasts.ts'
import { doubtMessages } from '../features/restore/doubt-messages.ts'
import { closeDatabase, openDatabase } from '../platform/database/database.ts'
import { findOtherProcess } from '../platform/database/find-other-process.ts'
import type { ResolvedDatabase } from '../platform/database/resolve-database.ts'
import { synchronizeClock } from '../platform/database/synchronize-clock.ts'
import { createLogger } from '../platform/log.ts'
import { exitOnSignals } from '../platform/process/read-command.ts'
import { systemClock } from '../platform/time.ts'
import { SystemScope } from '../scope/system-scope.ts'
import { withStoredDatabase } from './configured-database.ts'
import { ProblemError } from './workflow-files.ts'

/**
 * Marks what may have been sent after the point to which the database was restored as unknown deliveries, so that nothing
 * is sent twice; or prints what it would mark. Returns true if nothing is left. It may be repeated, also after it was
 * interrupted.
 * @throws ProblemError while a process of Parley is connected
 */
export async function runAfterRestore({ isConfirmed }: { isConfirmed: boolean }): Promise<boolean> {
  exitOnSignals()
  const config = loadConfig(readEnvironment())
  return withStoredDatabase(config, async (database) => {
    await assertUnused(database, config)
    return withSystem(config, async (system) => {
      const found = await countUnsettled(system)
      print(...describe(found))
      if (!hasUnsettled(found)) {
        print('There is nothing to mark. Start Parley.')
        return true
      }
      if (!isConfirmed) {
        print('Nothing was changed. Repeat the command with --yes to mark these deliveries as unknown.')
        return true
      }
      await doubtMessages(system)
      await doubtBroadcasts(system)
      const isDone = !hasUnsettled(await countUnsettled(system))
      print(isDone ? 'They are marked as unknown. Start Parley.' : 'Some are left. Repeat the command.')
      return isDone
    })
  })
}

function print(...lines: string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''))
}

function describe({ messages, scheduledMessages, recipients, broadcasts }: Unsettled): string[] {
  return [
    `Messages in the outbox: ${messages}`,
    `Scheduled messages whose time has come: ${scheduledMessages}`,
    `Recipients that running broadcasts may have reached: ${recipients}`,
    `Broadcasts that are being prepared, or were due to start: ${broadcasts}`,
  ]
}

async function assertUnused(database: ResolvedDatabase, { dataDir }: Config): Promise<void> {
  const db = openDatabase(database.sessionUrl, { connections: 1, name: 'parley after-restore' })
  try {
    const other = await findOtherProcess(db, database, dataDir)
    if (other !== undefined) throw new ProblemError(other)
  } finally {
    await closeDatabase(db)
  }
}

/** Opens the parts of a process that does no work by itself. */
async function withSystem<T>(config: Config, work: (system: SystemScope) => Promise<T>): Promise<T> {
  const log = createLogger('silent')
  const isolated = { ...config, database: { ...config.database, migratesOnStart: false } }
  const dependencies = await openDependencies(isolated, { log, clock: systemClock })
  try {
    const stopClock = await synchronizeClock(dependencies.pools.background.db, log)
    try {
      return await work(new SystemScope(dependencies))
    } finally {
      stopClock()
    }
  } finally {
    await dependencies.close()
  }
}
