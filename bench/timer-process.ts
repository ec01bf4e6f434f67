import { loadConfig } from '../src/config.ts'
import { wakeWaits } from '../src/features/runs/wake-waits.ts'
import { openParts } from '../src/parts.ts'
import { createLogger } from '../src/platform/log.ts'
import { systemClock } from '../src/platform/time.ts'
import { SystemScope } from '../src/scope.ts'
import { handleCommands } from './bench-process.ts'

/** Executes nothing but the periodic task that fires due timers. */
const parts = await openParts(loadConfig(), { log: createLogger('error'), clock: systemClock })
const system = new SystemScope(parts)

handleCommands({
  async fireDueTimers(times: number) {
    for (let index = 0; index < times; index += 1) await wakeWaits(system)
  },
})
