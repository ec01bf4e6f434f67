import { loadConfig } from '../src/config.ts'
import { fireDueTimers } from '../src/features/automation/fire-due-timers.ts'
import { openDependencies } from '../src/dependencies.ts'
import { createLogger } from '../src/platform/log.ts'
import { systemClock } from '../src/platform/time.ts'
import { SystemScope } from '../src/scope.ts'
import { takeOrders } from './bench-process.ts'

/** Does nothing but wake waits, as often as it is told. */
const parts = await openDependencies(loadConfig(), { log: createLogger('error'), clock: systemClock })
const system = new SystemScope(parts)

takeOrders({
  async wake(times: number) {
    for (let time = 0; time < times; time += 1) await fireDueTimers(system)
  },
})
