import { type Inject, lastWithLoad, type Partition } from './fault.ts'
import { freezeAt } from './reach-failpoint.ts'

/** Stops forwarding between the database and one process or all of them. */
export const injectPartition: Inject<Partition> = async (system, fault, random) => {
  const { pool, load } = system
  const { frozen, processes, isFailpointReached } = await freezeAt(system, fault, random)
  const proxies = fault.scope === 'all' ? pool.slots.map(({ proxy }) => proxy) : [frozen.slot.proxy]
  for (const proxy of proxies) proxy.partition()
  for (const process of processes) process.thaw()
  await lastWithLoad(load, fault.durationMs)
  for (const proxy of proxies) proxy.recover(fault)
  return { isFailpointReached }
}
