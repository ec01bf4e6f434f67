import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { createLogger } from '../../src/platform/log.ts'
import { addMs, processClock } from '../../src/platform/time.ts'

const clockOffsetMs = Number(process.env['CLOCK_OFFSET_MS'] ?? 0)
processClock.now = () => addMs(new Date(), clockOffsetMs)
const app = await createApp(loadConfig(), { log: createLogger('silent') })
process.send?.({ url: app.url })
// A test that dies must not leave its processes behind.
process.on('disconnect', () => process.exit(1))
