import type { Inject, Skew } from './fault.ts'
import { listTargets } from './reach-failpoint.ts'

/** Replaces a process by one with another clock, which the later replacements in its place keep. */
export const injectSkew: Inject<Skew> = async ({ pool }, { role, offsetMs }, random) => {
  const process = random.pick(await listTargets(pool, role))
  process.slot.clockOffsetMs = offsetMs
  await process.kill()
  await pool.waitUntilReplaced(process)
  return {}
}
