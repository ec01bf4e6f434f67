import { setTimeout as delay } from 'node:timers/promises'
import type { ChaosDatabase } from './database.ts'
import type { Failpoint } from './failpoints.ts'
import type { Fault, FaultTarget } from './fault-plan.ts'
import type { LoadGenerator } from './load-generator.ts'
import type { ProcessPool } from './process-pool.ts'
import type { Random } from './random.ts'

/** Time limit for reaching a failpoint, and the interval at which customers who lead to it are added meanwhile. */
const FAILPOINT_TIMEOUT_MS = 10_000
const ADD_CUSTOMER_INTERVAL_MS = 250

/** A kill that took place; `missedFailpoint` is set if the failpoint was not reached in time. */
export type InjectedFault = {
  target: FaultTarget
  failpoint: Failpoint | undefined
  missedFailpoint: Failpoint | undefined
}

type System = { pool: ProcessPool; database: ChaosDatabase; load: LoadGenerator; random: Random }

/**
 * Kills the first process that reaches the failpoint, or has it kill the database. If no process reaches it in time, the
 * target is killed at once instead.
 */
export async function injectFault(system: System, fault: Fault): Promise<InjectedFault> {
  const { pool, database, load, random } = system
  const { target, role, failpoint, skip } = fault
  await delay(fault.delayMs)
  while (pool.listReady(role).length === 0) await delay(20)
  const processes = pool.listReady(role)
  const isDatabase = target === 'database'
  const isKilled = () => (isDatabase ? !database.isRunning : processes.some(({ hasExited }) => hasExited))
  if (failpoint !== undefined) {
    for (const process of processes) process.armFailpoint({ failpoint, skip, target: isDatabase ? 'database' : 'self' })
    await waitForFailpoint(load, failpoint, isKilled)
    for (const process of processes) process.disarmFailpoint()
  }
  const isReached = failpoint !== undefined && isKilled()
  if (isDatabase) await restartDatabase(database)
  else if (!isReached) await random.pick(processes).kill()
  return {
    target,
    failpoint: isReached ? failpoint : undefined,
    missedFailpoint: isReached ? undefined : failpoint,
  }
}

/** Adds customers whose conversations pass the failpoint until it was reached or the time limit has passed. */
async function waitForFailpoint(load: LoadGenerator, failpoint: Failpoint, isReached: () => boolean): Promise<void> {
  const startMs = performance.now()
  let lastAddedMs = startMs
  while (!isReached()) {
    const nowMs = performance.now()
    if (nowMs - startMs > FAILPOINT_TIMEOUT_MS) return
    if (nowMs - lastAddedMs > ADD_CUSTOMER_INTERVAL_MS) {
      load.addCustomer(failpoint)
      lastAddedMs = nowMs
    }
    await delay(10)
  }
}

async function restartDatabase(database: ChaosDatabase): Promise<void> {
  // Gives the processes time to disarm, so that none of them kills the restarted server.
  await delay(20)
  database.kill()
  await database.start()
}

export function describeFault({ target, failpoint, missedFailpoint }: InjectedFault): string {
  if (missedFailpoint)
    return `${target} killed at a random moment, failpoint "${missedFailpoint}" was not reached in time`
  return failpoint ? `${target} killed at failpoint "${failpoint}"` : `${target} killed at a random moment`
}
