import { createApp } from './app.ts'
import { loadConfig, readEnvironment } from './config.ts'
import { describeStartError } from './describe-start-error.ts'
import { createLogger } from './platform/log.ts'
import { createPrettyDestination } from './platform/process/pretty-log.ts'
import { SECOND } from './platform/time.ts'

const DRAIN_MS = 10 * SECOND
/** Without the drain delay: more than jobs may take to finish, and less than container managers and systemd wait as documented. */
const STOP_MAX_MS = 25 * SECOND

async function main(): Promise<void> {
  const config = loadConfig(readEnvironment())
  const isPretty = config.logFormat === 'auto' ? process.stdout.isTTY : config.logFormat === 'pretty'
  const log = createLogger(config.logLevel, isPretty ? await createPrettyDestination() : undefined)
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled promise rejection'))
  const onStuck = () => {
    log.error(
      'background work is stuck although the database answers: ending, so that a supervisor starts another process',
    )
    stop(1)
  }
  const app = await createApp(config, { log, onStuck })

  let stopping = false
  const stop = (exitCode: number) => {
    // A second signal ends the process at once.
    if (stopping) process.exit(1)
    stopping = true
    setTimeout(() => process.exit(1), config.http.drainDelayMs + STOP_MAX_MS).unref()
    app.stop(DRAIN_MS).then(
      () => process.exit(exitCode),
      (error: unknown) => {
        log.error({ err: error }, 'shutdown failed')
        process.exit(1)
      },
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      log.info({ signal }, 'stopping: finishing what is in flight')
      stop(0)
    })
  }
  // Last: a process that waits for these lines may send a signal at once. Standard output is all JSON or all text.
  for (const line of app.banner) {
    if (isPretty) process.stdout.write(`${line}\n`)
    else log.info(line)
  }
}

main().catch((error: unknown) => {
  // The start failed, perhaps before logging was configured, so the reason goes to stderr.
  process.stderr.write(`${describeStartError(error)}\n`)
  process.exit(1)
})
