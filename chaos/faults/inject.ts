import { setTimeout as delay } from 'node:timers/promises'
import { SECOND } from '../../src/platform/time.ts'
import { Random } from '../random.ts'
import { injectCut } from './cut.ts'
import { injectPartition } from './partition.ts'
import { injectDisk } from './disk.ts'
import { injectEmpty } from './empty.ts'
import type { Fault, FaultResult, System } from './fault.ts'
import { injectFreeze } from './freeze.ts'
import { injectKill } from './kill.ts'
import { injectLock } from './lock.ts'
import { injectNodeOutage } from './node.ts'
import { injectSkew } from './skew.ts'

/** Time limit for answering new customers after a fault. */
export const RECOVERY_MAX_MS = 60 * SECOND

/**
 * A fault that took place. `recoveryMs` is the time from a kill until the replacement is ready, or from the end of
 * another fault until new customers of all workspaces were answered; undefined if the time limit was exceeded.
 */
export type InjectedFault = {
  fault: Fault
  isFailpointReached: boolean
  skipReason: string | undefined
  /** The database server that was killed or stopped. */
  server: string | undefined
  recoveryMs: number | undefined
}

/** Injects a fault, lets it end and waits until the system works again. A kill is followed by the next fault at once. */
export async function injectFault(system: System, fault: Fault): Promise<InjectedFault> {
  await delay(fault.delayMs)
  const result = await inject(system, fault, new Random(fault.seed))
  const { isFailpointReached = false, skipReason, server, replacedMs } = result
  const injected: InjectedFault = { fault, isFailpointReached, skipReason, server, recoveryMs: undefined }
  if (replacedMs) void replacedMs.then((ms) => (injected.recoveryMs = ms))
  else if (!skipReason) injected.recoveryMs = await system.load.measureReply(RECOVERY_MAX_MS)
  return injected
}

function inject(system: System, fault: Fault, random: Random): Promise<FaultResult> {
  switch (fault.kind) {
    case 'kill':
      return injectKill(system, fault, random)
    case 'cut':
      return injectCut(system, fault, random)
    case 'partition':
      return injectPartition(system, fault, random)
    case 'freeze':
      return injectFreeze(system, fault, random)
    case 'lock':
      return injectLock(system, fault, random)
    case 'empty':
      return injectEmpty(system, fault, random)
    case 'skew':
      return injectSkew(system, fault, random)
    case 'disk':
      return injectDisk(system, fault, random)
    case 'node':
      return injectNodeOutage(system, fault, random)
  }
}
