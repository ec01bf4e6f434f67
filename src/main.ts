import { createApp } from './app.ts'
import { ConfigError, loadConfig } from './config.ts'
import { EmbeddedPostgresError } from './platform/embedded-postgres/embedded-postgres-error.ts'
import { createLogger } from './platform/log.ts'
import { SECOND } from './platform/time.ts'

const DRAIN_MS = 10 * SECOND

/** Prints for the person at the terminal; everything else is log. */
function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

async function main(): Promise<void> {
  const config = loadConfig()
  const log = createLogger(config.logLevel)
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'a promise was rejected and nobody looked'))
  const app = await createApp(config, { log })
  app.welcome.forEach(print)

  let stopping = false
  const stop = (signal: string) => {
    // A second signal does not wait.
    if (stopping) process.exit(1)
    stopping = true
    log.info({ signal }, 'stopping: finishing what is in flight')
    setTimeout(() => process.exit(1), DRAIN_MS + 5 * SECOND).unref()
    app.stop(DRAIN_MS).then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'did not stop cleanly')
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
}

main().catch((error: unknown) => {
  // Nothing runs yet, and the reason may be that logging is off: say it plainly.
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
  const isForOperator = isTaken || error instanceof ConfigError || error instanceof EmbeddedPostgresError
  process.stderr.write(
    `${isTaken ? `${message}. Set PORT to a free port` : isForOperator ? message : (stack ?? message)}\n`,
  )
  process.exit(1)
})
