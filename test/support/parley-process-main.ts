import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { VERSION } from '../../src/http/version.ts'
import { createLogger, toProcessFields } from '../../src/platform/log.ts'
import { addMs, processClock } from '../../src/platform/time.ts'

const clockOffsetMs = Number(process.env['CLOCK_OFFSET_MS'] ?? 0)
processClock.now = () => addMs(new Date(), clockOffsetMs)
const config = loadConfig()
const log = createLogger(config.logLevel, undefined, toProcessFields(config.roles, VERSION))
const app = await createApp(config, { log })
process.send?.({ url: app.url, metricsUrl: app.metricsUrl })
/** Keeps the event loop busy, with a gap for pending events after every `busyMs`, until the next message. */
let busyMs = 0
function keepBusy(): void {
  const end = performance.now() + busyMs
  while (performance.now() < end);
  if (busyMs > 0) setTimeout(keepBusy, 1)
}
process.on('message', (message: { busyMs: number }) => {
  const isBusy = busyMs > 0
  busyMs = message.busyMs
  if (!isBusy) keepBusy()
})

// A test that dies must not leave its processes behind.
process.on('disconnect', () => process.exit(1))
