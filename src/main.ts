import { createApp } from './app.ts'
import { ConfigError, loadConfig } from './config.ts'
import { EmbeddedPostgresError } from './platform/embedded-postgres/embedded-postgres-error.ts'
import { getField } from './platform/get-field.ts'
import { createLogger } from './platform/log.ts'
import { SECOND } from './platform/time.ts'

const DRAIN_MS = 10 * SECOND

/** Prints a line for the person at the terminal; everything else is logged. */
function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

async function main(): Promise<void> {
  const config = loadConfig()
  const log = createLogger(config.logLevel)
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
    setTimeout(() => process.exit(1), DRAIN_MS + 5 * SECOND).unref()
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
  // Printed last: a process that waits for these lines may send a signal at once.
  app.banner.forEach(print)
}

main().catch((error: unknown) => {
  // The start failed, perhaps before logging was configured, so the reason goes to stderr.
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  const isPortTaken = getField(error, 'code') === 'EADDRINUSE'
  const isForOperator = isPortTaken || error instanceof ConfigError || error instanceof EmbeddedPostgresError
  process.stderr.write(
    `${isPortTaken ? `${message}. Set PORT to a free port` : isForOperator ? message : (stack ?? message)}\n`,
  )
  process.exit(1)
})
