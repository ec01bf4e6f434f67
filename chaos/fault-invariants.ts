import { type InjectedFault, RECOVERY_MAX_MS } from './faults/inject.ts'
import { describeFault } from './faults/describe.ts'
import type { InvariantResult } from './invariant.ts'
import type { ProcessPool } from './process-pool.ts'

/** A failpoint that is missed this often is a statement that the application no longer executes. */
const MISSES_MAX = 2

export function checkRecovery(faults: InjectedFault[]): InvariantResult {
  const checked = faults.filter(({ fault, skipReason }) => fault.kind !== 'kill' && skipReason === undefined)
  return {
    name: `new customers are answered within ${RECOVERY_MAX_MS / 1000} seconds after a fault`,
    checked: checked.length,
    violations: checked.filter(({ recoveryMs }) => recoveryMs === undefined).map(describeFault),
  }
}

export function checkFailpoints(faults: InjectedFault[]): InvariantResult {
  const reached = new Map<string, { hits: number; misses: number }>()
  for (const { fault, isFailpointReached } of faults) {
    if (!('failpoint' in fault) || fault.failpoint === undefined) continue
    const { hits, misses } = reached.get(fault.failpoint) ?? { hits: 0, misses: 0 }
    const isHit = Number(isFailpointReached)
    reached.set(fault.failpoint, { hits: hits + isHit, misses: misses + 1 - isHit })
  }
  return {
    name: 'every failpoint is reached',
    checked: reached.size,
    violations: [...reached].flatMap(([failpoint, { hits, misses }]) =>
      hits === 0 && misses > MISSES_MAX ? [`"${failpoint}" was not reached in ${misses} attempts`] : [],
    ),
  }
}

/** Checks that processes end only when killed, and that after the last fault none had to be started. */
export function checkProcesses({ starts, incidents }: ProcessPool, startsBeforeDrain: number): InvariantResult[] {
  const restarts = starts - startsBeforeDrain
  return [
    {
      name: 'processes exit only when killed, and have no unhandled rejections',
      checked: starts,
      violations: incidents.map(({ role, text }) => `${role}: ${text}`),
    },
    {
      name: 'the remaining work is done by the running processes',
      checked: 1,
      violations: restarts > 0 ? [`${restarts} processes were started after the last fault`] : [],
    },
  ]
}
