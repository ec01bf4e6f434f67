import { setTimeout as delay } from 'node:timers/promises'

/** For what happens in another process, which cannot tell us: looks until it is so. The test's own limit ends it. */
export async function waitUntil(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(5)
}
