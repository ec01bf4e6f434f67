import { type App, createApp } from './app.ts'
import { loadConfig, readEnvironment } from './config.ts'
import { describeStartError } from './describe-start-error.ts'
import { openConsole } from './http/console-site.ts'
import { VERSION } from './http/version.ts'
import { createLogger, createPrettyDestination, toProcessFields } from './platform/log.ts'
import { readCommand, STOP_SIGNALS } from './platform/process/read-command.ts'
import { SECOND } from './platform/time.ts'

const DRAIN_MS = 10 * SECOND
/** Without the drain delay: more than jobs may take to finish, and less than container managers and systemd wait as documented. */
const STOP_MAX_MS = 25 * SECOND

/** Signals in this time are one request: the terminal sends Ctrl+C to all of its processes, and npm forwards its own. */
const SAME_REQUEST_MS = SECOND

const USAGE = `Usage: npm start
Starts Parley with the settings of the environment and of the file .env, which docs/operations.md lists.`

async function main(): Promise<void> {
  readCommand(USAGE)
  const config = loadConfig(readEnvironment())
  const isPretty = config.logFormat === 'auto' ? process.stdout.isTTY : config.logFormat === 'pretty'
  const log = isPretty
    ? createLogger(config.logLevel, await createPrettyDestination())
    : createLogger(config.logLevel, undefined, toProcessFields(config.roles, VERSION))
  process.on('unhandledRejection', (error) =>
    log.error({ event: 'unhandled_rejection', err: error }, 'unhandled promise rejection'),
  )

  let app: App | undefined
  let stoppingSinceMs: number | undefined
  const stop = (exitCode: number) => {
    stoppingSinceMs = performance.now()
    // What the start has opened ends with the process, and the embedded database is stopped while it exits.
    if (!app) process.exit(exitCode)
    setTimeout(() => process.exit(1), config.http.drainDelayMs + STOP_MAX_MS).unref()
    app.stop(DRAIN_MS).then(
      () => process.exit(exitCode),
      (error: unknown) => {
        log.error({ event: 'shutdown_failed', err: error }, 'shutdown failed')
        process.exit(1)
      },
    )
  }
  // Before the start, which takes a while.
  for (const signal of STOP_SIGNALS) {
    process.on(signal, () => {
      if (stoppingSinceMs !== undefined) {
        if (performance.now() - stoppingSinceMs > SAME_REQUEST_MS) process.exit(1)
        return
      }
      log.info({ signal }, app ? 'stopping: finishing what is in flight' : 'stopping during the start')
      stop(0)
    })
  }
  const onStuck = () => {
    log.error(
      { event: 'process_stuck' },
      'background work is stuck although the database answers: ending, so that a supervisor starts another process',
    )
    if (stoppingSinceMs === undefined) stop(1)
    else process.exit(1)
  }
  app = await createApp(config, { log, onStuck })
  // Last: a process that waits for these lines may send a signal at once. Standard output is all JSON or all text.
  for (const line of app.banner({ isLog: !isPretty })) {
    if (isPretty) process.stdout.write(`${line}\n`)
    else log.info(line)
  }
  // Before somebody opens the console. A failure is logged when somebody does.
  if (app.url !== undefined) openConsole().catch(() => undefined)
}

main().catch((error: unknown) => {
  // The start failed, perhaps before logging was configured, so the reason goes to stderr.
  process.stderr.write(`${describeStartError(error)}\n`)
  process.exit(1)
})
