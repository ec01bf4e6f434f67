import { type ArmedFailpoint, armFailpoint } from './failpoints.ts'

/** Messages from the chaos test to one of its processes, and from the process to the chaos test. */
export type ProcessCommand =
  | { kind: 'start'; environment: Record<string, string>; clockOffsetMs: number }
  | { kind: 'arm'; failpoint: ArmedFailpoint }
  | { kind: 'disarm' }
export type ProcessEvent = { kind: 'ready'; url: string | undefined } | { kind: 'unhandled_rejection'; text: string }

const sendEvent = (event: ProcessEvent) => process.send?.(event)

const startCommand = new Promise<ProcessCommand & { kind: 'start' }>((resolve) => {
  process.on('message', (command: ProcessCommand) => {
    if (command.kind === 'start') resolve(command)
    else armFailpoint(command.kind === 'arm' ? command.failpoint : undefined)
  })
})
/**
 * Rejection inside the job queue when it is stopped because the database is gone; callers cannot catch it. The jobs that
 * it could not return are unlocked like those of a killed process.
 */
const JOBS_NOT_RETURNED = 'Error occurred whilst returning jobs from local queue'

process.on('unhandledRejection', (error) => {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  if (!text.includes(JOBS_NOT_RETURNED)) sendEvent({ kind: 'unhandled_rejection', text })
})
// Exits when the chaos test itself dies, so that no processes are left behind.
process.on('disconnect', () => process.exit(1))

const { createApp } = await import('../src/app.ts')
const { loadConfig } = await import('../src/config.ts')
const { createLogger } = await import('../src/platform/log.ts')
const { addMs, systemClock } = await import('../src/platform/time.ts')

const { environment, clockOffsetMs } = await startCommand
Object.assign(process.env, environment)
const config = loadConfig()
const clock = { now: () => addMs(systemClock.now(), clockOffsetMs) }
try {
  const app = await createApp(config, { log: createLogger(config.logLevel), clock })
  sendEvent({ kind: 'ready', url: app.url })
} catch {
  // The database is unavailable; the process pool starts a new process.
  process.exit(1)
}
