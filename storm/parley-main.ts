import { arm, type Arming } from './failpoints.ts'

/** What the storm tells one of its processes, and what it hears from it. */
export type Order = { kind: 'arm'; arming: Arming } | { kind: 'disarm' } | { kind: 'clock'; aheadMs: number }
export type News = { kind: 'started'; url: string | undefined } | { kind: 'rejection'; text: string }

const { createApp } = await import('../src/app.ts')
const { loadConfig } = await import('../src/config.ts')
const { createLogger } = await import('../src/platform/log.ts')
const { addMs, systemClock } = await import('../src/platform/time.ts')

let aheadMs = Number(process.env['STORM_CLOCK_AHEAD_MS'] ?? 0)

const tell = (news: News) => process.send?.(news)

process.on('message', (order: Order) => {
  if (order.kind === 'clock') aheadMs = order.aheadMs
  else arm(order.kind === 'arm' ? order.arming : undefined)
})
process.on('unhandledRejection', (error) =>
  tell({ kind: 'rejection', text: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
)
// A storm that dies must not leave its processes behind.
process.on('disconnect', () => process.exit(1))

const config = loadConfig()
const clock = { now: () => addMs(systemClock.now(), aheadMs) }
try {
  const app = await createApp(config, { log: createLogger(config.logLevel), clock })
  tell({ kind: 'started', url: app.url })
} catch {
  // The database is away: whoever watches over us starts us again.
  process.exit(1)
}
