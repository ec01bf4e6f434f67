import { type Freeze, type Inject, lastWithLoad } from './fault.ts'
import { freezeAt } from './reach-failpoint.ts'

/** Stops a process, which the others and the database cannot distinguish from a slow one, and continues it later. */
export const injectFreeze: Inject<Freeze> = async (system, fault, random) => {
  const { processes, isFailpointReached } = await freezeAt(system, fault, random)
  await lastWithLoad(system.load, fault.durationMs)
  for (const process of processes) process.thaw()
  return { isFailpointReached }
}
