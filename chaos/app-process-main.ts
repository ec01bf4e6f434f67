import { type ArmedFailpoint, armFailpoint } from './failpoints.ts'

/** Messages from the chaos test to one of its processes, and from the process to the chaos test. */
export type ProcessCommand =
  | { kind: 'start'; environment: Record<string, string>; clockOffsetMs: number }
  | { kind: 'arm'; failpoint: ArmedFailpoint }
  | { kind: 'disarm' }
  | { kind: 'change_environment'; environment: Record<string, string> }
export type ProcessEvent =
  { kind: 'ready'; url: string | undefined } | { kind: 'frozen' } | { kind: 'unhandled_rejection'; text: string }

const sendEvent = (event: ProcessEvent) => process.send?.(event)

const startCommand = new Promise<ProcessCommand & { kind: 'start' }>((resolve) => {
  process.on('message', (command: ProcessCommand) => {
    if (command.kind === 'start') resolve(command)
    else if (command.kind === 'change_environment') Object.assign(process.env, command.environment)
    else armFailpoint(command.kind === 'arm' ? command.failpoint : undefined)
  })
})
process.on('unhandledRejection', (error) => {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  sendEvent({ kind: 'unhandled_rejection', text })
})
// Exits when the chaos test itself dies, so that no processes are left behind.
process.on('disconnect', () => process.exit(1))

const { createApp } = await import('../src/app.ts')
const { loadConfig } = await import('../src/config.ts')
const { createLogger } = await import('../src/platform/log.ts')
const { addMs, processClock } = await import('../src/platform/time.ts')

const { environment, clockOffsetMs } = await startCommand
Object.assign(process.env, environment)
const config = loadConfig()
// IDs contain the time of this clock too, so the offset is not passed as a clock of the application.
processClock.now = () => addMs(new Date(), clockOffsetMs)
try {
  const app = await createApp(config, { log: createLogger(config.logLevel) })
  sendEvent({ kind: 'ready', url: app.url })
} catch {
  // The database is unavailable; the process pool starts a new process.
  process.exit(1)
}
