import { arm, type Arming } from './failpoints.ts'

/** What the storm tells one of its processes, and what it hears from it. */
export type Order =
  | { kind: 'begin'; environment: Record<string, string>; clockAheadMs: number }
  | { kind: 'arm'; arming: Arming }
  | { kind: 'disarm' }
export type News = { kind: 'started'; url: string | undefined } | { kind: 'rejection'; text: string }

const tell = (news: News) => process.send?.(news)

const begun = new Promise<Order & { kind: 'begin' }>((resolve) => {
  process.on('message', (order: Order) => {
    if (order.kind === 'begin') resolve(order)
    else arm(order.kind === 'arm' ? order.arming : undefined)
  })
})
/**
 * The job queue's own, when it is put away because the database is gone: nobody outside can catch it. The jobs that it
 * could not give back are freed like those of the dead.
 */
const JOBS_NOT_RETURNED = 'Error occurred whilst returning jobs from local queue'

process.on('unhandledRejection', (error) => {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  if (!text.includes(JOBS_NOT_RETURNED)) tell({ kind: 'rejection', text })
})
// A storm that dies must not leave its processes behind.
process.on('disconnect', () => process.exit(1))

const { createApp } = await import('../src/app.ts')
const { loadConfig } = await import('../src/config.ts')
const { createLogger } = await import('../src/platform/log.ts')
const { addMs, systemClock } = await import('../src/platform/time.ts')

const { environment, clockAheadMs } = await begun
Object.assign(process.env, environment)
const config = loadConfig()
const clock = { now: () => addMs(systemClock.now(), clockAheadMs) }
try {
  const app = await createApp(config, { log: createLogger(config.logLevel), clock })
  tell({ kind: 'started', url: app.url })
} catch {
  // The database is away: whoever watches over us starts us again.
  process.exit(1)
}
