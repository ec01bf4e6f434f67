import { loadConfig } from '../src/config.ts'
import { fireDueTimers } from '../src/features/automation/fire-due-timers.ts'
import { openDependencies } from '../src/dependencies.ts'
import { createLogger } from '../src/platform/log.ts'
import { systemClock } from '../src/platform/time.ts'
import { SystemScope } from '../src/scope/system-scope.ts'
import { handleCommands } from './bench-process.ts'

/** Executes nothing but the periodic task that fires due timers. */
const parts = await openDependencies(loadConfig(), { log: createLogger('error'), clock: systemClock })
const system = new SystemScope(parts)

handleCommands({
  async fireDueTimers(times: number) {
    for (let index = 0; index < times; index += 1) await fireDueTimers(system)
  },
})
