import type { Server } from 'node:http'
import type { Config } from './config.ts'
import type { OpenDependencies } from './dependencies.ts'
import { startMetricsServer, stopMetricsServer } from './http/metrics-server.ts'
import { VERSION } from './http/version.ts'
import { withinTime } from './platform/concurrency/deadline.ts'
import { findLatestMigration } from './platform/database/migrate.ts'
import { createReadinessProbe } from './platform/database/readiness-probe.ts'
import { LoopLag } from './http/load/loop-lag.ts'
import { type GaugeValue, metrics, observe, setGauge, startMetrics } from './platform/metrics.ts'
import { ConfigError } from './platform/process/config-error.ts'
import { getField } from './platform/fields.ts'
import { SECOND } from './platform/time.ts'

/** Finds the reason why this process must not receive traffic, or is to be replaced. */
export type Readiness = () => Promise<string | undefined>

/**
 * Returns a function that asks the database once a second at most, over connections of the roles of the process: a worker
 * opens none for requests.
 */
export function createReadiness(
  { pools, cache, jobs }: OpenDependencies,
  { roles }: Pick<Config, 'roles'>,
  shutdown: { isDraining: boolean },
): Readiness {
  const { requests, webhooks, engine, background } = pools
  const probe = roles.includes('http')
    ? createReadinessProbe({ reading: requests.db, writing: webhooks.db })
    : createReadinessProbe({ reading: background.db, writing: engine.db })
  return async () => {
    if (shutdown.isDraining) return 'draining'
    const problem = await cache.get('readiness', SECOND, probe)
    return problem ?? (jobs.isStuck ? 'background work stuck' : undefined)
  }
}

/** The server of metrics. It listens from the start of a process to the end, before and after everything else. */
export type Observability = {
  url: string
  /** Has to be called when the parts of the process are open. */
  use(dependencies: OpenDependencies, readiness: Readiness): void
  stop(): Promise<void>
}

const INFO_MAX_MS = 2 * SECOND

/** Starts to count, and the server that shows it, if it has a port. @throws ConfigError */
export async function startObservability(config: Config): Promise<Observability | undefined> {
  if (!config.metrics) return undefined
  const stopMetrics = startMetrics()
  const build = { version: VERSION, commit: config.commit ?? 'unknown', roles: config.roles.join(',') }
  setGauge(metrics.buildInfo, [{ labels: build, value: 1 }])
  let parts: { dependencies: OpenDependencies; readiness: Readiness } | undefined
  const server = await listen(config.metrics, {
    findReadinessProblem: async () => (parts ? parts.readiness() : 'starting'),
    async describe() {
      const { version } = build
      const latest = parts && readLatestMigration(parts.dependencies)
      const latestMigration = latest ? await withinTime(INFO_MAX_MS, latest).catch(() => null) : null
      return { version, commit: config.commit ?? null, roles: config.roles, latestMigration }
    },
    readGauges: () => parts && readGauges(parts.dependencies),
  })
  const lag = new LoopLag((lagMs) => observe(metrics.loopLag, {}, lagMs))
  return {
    url: toUrl(server, config.metrics.host),
    use: (dependencies, readiness) => (parts = { dependencies, readiness }),
    async stop() {
      stopMetrics()
      lag.stop()
      await stopMetricsServer(server)
    },
  }
}

function readLatestMigration({ cache, pools }: OpenDependencies): Promise<string | null> {
  return cache.get('latest migration', SECOND, () => findLatestMigration(pools.background.db))
}

function readGauges({ pools, computePool }: OpenDependencies): void {
  setGauge(
    metrics.poolConnections,
    Object.entries(pools).flatMap(([pool, connections]) =>
      toValues(connections.countConnections()).map(({ state, value }) => ({ labels: { pool, state }, value })),
    ),
  )
  setGauge(
    metrics.computeTasks,
    toValues(computePool.countTasks()).map(({ state, value }): GaugeValue<'state'> => ({ labels: { state }, value })),
  )
}

function toValues(counts: Record<string, number>): { state: string; value: number }[] {
  return Object.entries(counts).map(([state, value]) => ({ state, value }))
}

async function listen(...[address, source]: Parameters<typeof startMetricsServer>): Promise<Server> {
  try {
    return await startMetricsServer(address, source)
  } catch (error) {
    const code = String(getField(error, 'code'))
    throw new ConfigError([`METRICS_PORT: cannot listen on ${address.host}, port ${address.port} (${code})`])
  }
}

function toUrl(server: Server, host: string): string {
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
