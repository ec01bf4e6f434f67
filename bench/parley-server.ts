import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createApp } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { createLogger } from '../src/platform/log.ts'
import { renderMetrics, startMetrics } from '../src/platform/metrics.ts'

/** Parley as in production, without log output. */
const app = await createApp(loadConfig(), { log: createLogger('silent') })
process.on('SIGTERM', () => void app.stop(1000).then(() => process.exit(0)))
let stopMetrics = () => {}
process.on('message', (message) => {
  if (message === 'metrics') {
    stopMetrics = startMetrics()
    return void process.send?.('')
  }
  if (message === 'no metrics') {
    stopMetrics()
    return void process.send?.('')
  }
  if (message === 'scrape') return void scrape()
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  process.send?.(process.memoryUsage().heapUsed)
})
/** Renders the metrics, as a scrape does, and reports the time in ms and the number of series. */
async function scrape(): Promise<void> {
  const startMs = performance.now()
  const { text } = await renderMetrics()
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length
  process.send?.([performance.now() - startMs, series])
}
// A worker has no URL; the empty string reports that it is ready.
process.send?.(app.url ?? '')
