import { setTimeout as delay } from 'node:timers/promises'
import { SECOND } from '../../src/platform/time.ts'

const PATIENCE_MS = 60 * SECOND

/**
 * For what happens in another process, which cannot tell us: looks until it is so. It gives up, because a test that ran
 * out of time still goes on behind the others and would keep them from ending.
 */
export async function waitUntil(isSo: () => boolean | Promise<boolean>, patienceMs = PATIENCE_MS): Promise<void> {
  const until = performance.now() + patienceMs
  while (!(await isSo())) {
    if (performance.now() > until) throw new Error(`It was still not so after ${patienceMs / SECOND} seconds`)
    await delay(5)
  }
}
