import { setTimeout as delay } from 'node:timers/promises'
import type { ArmedFailpoint } from '../failpoints.ts'
import type { Inject, Kill } from './fault.ts'
import { listTargets, reachFailpoint } from './reach-failpoint.ts'

/**
 * Kills the first process that reaches the failpoint, or has it kill the database. If no process reaches it in time, the
 * target is killed at once instead.
 */
export const injectKill: Inject<Kill> = async ({ pool, database, load }, { target, role, failpoint, skip }, random) => {
  const processes = await listTargets(pool, role)
  const server = target === 'database' ? database.nextServer() : undefined
  const isKilled = () => (server ? !server.isRunning : processes.some(({ hasExited }) => hasExited))
  if (failpoint !== undefined) {
    const armed: ArmedFailpoint = server
      ? { failpoint, skip, action: 'kill_database', dataFolder: server.dataFolder }
      : { failpoint, skip, action: 'exit' }
    await reachFailpoint(load, { processes, armed, isReached: isKilled })
  }
  const isFailpointReached = failpoint !== undefined && isKilled()
  if (server) {
    // Gives the processes time to disarm, so that none of them kills the restarted server.
    await delay(20)
    server.kill()
    const replacedMs = measure(server.start())
    await replacedMs
    return { isFailpointReached, replacedMs, server: server.name }
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
