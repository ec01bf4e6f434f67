import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createApp } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { createLogger } from '../src/platform/log.ts'

/** Parley as in production, without log output. */
const app = await createApp(loadConfig(), { log: createLogger('silent') })
process.on('SIGTERM', () => void app.stop(1000).then(() => process.exit(0)))
process.on('message', () => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  process.send?.(process.memoryUsage().heapUsed)
})
// A worker has no URL; the empty string reports that it is ready.
process.send?.(app.url ?? '')
