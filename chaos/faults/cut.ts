import { setTimeout as delay } from 'node:timers/promises'
import type { Cut, Inject } from './fault.ts'
import type { TcpProxy } from '../../test/support/tcp-proxy.ts'
import type { ProcessPool } from '../process-pool.ts'
import type { Random } from '../random.ts'
import { freezeAt } from './reach-failpoint.ts'

const REPEAT_INTERVAL_MS = 100

/** Resets connections to the database. The process that reaches the failpoint is stopped for the moment of the cut. */
export const injectCut: Inject<Cut> = async (system, fault, random) => {
  const { pool, load } = system
  if (fault.scope === 'all') {
    for (const { proxy } of pool.slots) proxy.cutAll()
    return {}
  }
  if (fault.scope === 'repeated') {
    for (let elapsedMs = 0; elapsedMs < fault.durationMs; elapsedMs += REPEAT_INTERVAL_MS) {
      cutOneOfAll(pool, random)
      if (elapsedMs % 500 === 0) load.addCustomer()
      await delay(REPEAT_INTERVAL_MS)
    }
    return {}
  }
  const { frozen, processes, isFailpointReached } = await freezeAt(system, fault, random)
  if (fault.scope === 'one') cutOne(frozen.slot.proxy, random)
  else frozen.slot.proxy.cutAll()
  for (const process of processes) process.thaw()
  return { isFailpointReached }
}

function cutOneOfAll({ slots }: ProcessPool, random: Random): void {
  const connected = slots.filter(({ proxy }) => proxy.connectionCount > 0)
  if (connected.length > 0) cutOne(random.pick(connected).proxy, random)
}

function cutOne(proxy: TcpProxy, random: Random): void {
  proxy.cut(random.below(proxy.connectionCount))
}
