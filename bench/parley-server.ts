import { createApp } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { createLogger } from '../src/platform/log.ts'

/** Parley as it runs in production, but silent. */
const app = await createApp(loadConfig(), { log: createLogger('silent') })
process.on('SIGTERM', () => void app.stop(1000).then(() => process.exit(0)))
// A worker has no door, and is ready all the same.
process.send?.(app.url ?? '')
