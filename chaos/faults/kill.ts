import { setTimeout as delay } from 'node:timers/promises'
import type { Inject, Kill } from './fault.ts'
import { listTargets, reachFailpoint } from './reach-failpoint.ts'

/**
 * Kills the first process that reaches the failpoint, or has it kill the database. If no process reaches it in time, the
 * target is killed at once instead.
 */
export const injectKill: Inject<Kill> = async ({ pool, database, load }, { target, role, failpoint, skip }, random) => {
  const processes = await listTargets(pool, role)
  const isDatabase = target === 'database'
  const isKilled = () => (isDatabase ? !database.isRunning : processes.some(({ hasExited }) => hasExited))
  if (failpoint !== undefined) {
    const armed = { failpoint, skip, action: isDatabase ? 'kill_database' : 'exit' } as const
    await reachFailpoint(load, { processes, armed, isReached: isKilled })
  }
  const isFailpointReached = failpoint !== undefined && isKilled()
  if (isDatabase) {
    // Gives the processes time to disarm, so that none of them kills the restarted server.
    await delay(20)
    database.kill()
    const replacedMs = measure(database.start())
    await replacedMs
    return { isFailpointReached, replacedMs }
  }
  const killed = processes.find(({ hasExited }) => hasExited) ?? random.pick(processes)
  await killed.kill()
  return { isFailpointReached, replacedMs: measure(pool.waitUntilReplaced(killed)) }
}

async function measure(done: Promise<void>): Promise<number> {
  const startMs = performance.now()
  await done
  return performance.now() - startMs
}
