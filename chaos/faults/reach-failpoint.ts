import { setTimeout as delay } from 'node:timers/promises'
import type { AppProcess, Role } from '../app-process.ts'
import type { ArmedFailpoint, Failpoint } from '../failpoints.ts'
import type { LoadGenerator } from '../load-generator.ts'
import type { ProcessPool } from '../process-pool.ts'
import type { Random } from '../random.ts'
import type { Moment, System } from './fault.ts'

/** Time limit for reaching a failpoint, and the interval at which customers who lead to it are added meanwhile. */
const FAILPOINT_TIMEOUT_MS = 10_000
const ADD_CUSTOMER_INTERVAL_MS = 250

/** Waits until a process of the role is ready, and returns all that are. */
export async function listTargets(pool: ProcessPool, role: Role): Promise<AppProcess[]> {
  while (pool.listReady(role).length === 0) await delay(20)
  return pool.listReady(role)
}

/**
 * Arms a failpoint in processes and adds customers whose conversations pass it, until `isReached` returns true or the
 * time limit has passed.
 */
export async function reachFailpoint(
  load: LoadGenerator,
  { processes, armed, isReached }: { processes: AppProcess[]; armed: ArmedFailpoint; isReached: () => boolean },
): Promise<void> {
  for (const process of processes) process.armFailpoint(armed)
  await waitForFailpoint(load, armed.failpoint, isReached)
  for (const process of processes) process.disarmFailpoint()
}

/**
 * Freezes the first process of the role that reaches the failpoint, or one at random if none does in time. The caller
 * thaws `processes`, because a second one may reach the failpoint before it is disarmed.
 */
export async function freezeAt(
  { pool, load }: System,
  { role, failpoint, skip }: Moment,
  random: Random,
): Promise<{ frozen: AppProcess; processes: AppProcess[]; isFailpointReached: boolean }> {
  const processes = await listTargets(pool, role)
  const findFrozen = () => processes.find(({ isFrozen, hasExited }) => isFrozen && !hasExited)
  if (failpoint !== undefined) {
    const armed: ArmedFailpoint = { failpoint, skip, action: 'freeze' }
    await reachFailpoint(load, { processes, armed, isReached: () => findFrozen() !== undefined })
  }
  const reached = findFrozen()
  const frozen = reached ?? random.pick(processes)
  if (!reached) frozen.freeze()
  return { frozen, processes, isFailpointReached: reached !== undefined }
}

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
