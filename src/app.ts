import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from './config.ts'
import { createAuth } from './features/auth/create-auth.ts'
import { handleWebhook } from './features/inbound/handle-webhook.ts'
import { createInboundBatcher } from './features/inbound/inbound-batcher.ts'
import { handleWebhookCall } from './features/workflow-webhooks/handle-call.ts'
import { createHttpServer } from './http/server.ts'
import { periodicTasks, createTasks } from './jobs.ts'
import { createAddressResolver } from './platform/client-address.ts'
import { isMigrated } from './platform/database/database.ts'
import { startPeriodicTasks } from './platform/jobs/periodic-tasks.ts'
import type { Logger } from './platform/log.ts'
import { type Clock, systemClock } from './platform/time.ts'
import { openDependencies, type OpenDependencies } from './dependencies.ts'
import { appRouter } from './router.ts'
import { Scope, SystemScope } from './scope.ts'
import { banner } from './banner.ts'

export type App = {
  /** Where HTTP listens; undefined for a process that only works in the background. */
  url: string | undefined
  system: SystemScope
  /** For the person who started it: where it listens, how to sign in, what to try. */
  welcome: string[]
  /** Stops accepting, finishes what is in flight for at most `drainMs`, then closes every part in reverse order. */
  stop(drainMs: number): Promise<void>
}

/** Builds every long-lived part once, in order, and starts the roles asked for. */
export async function createApp(config: Config, given: { log: Logger; clock?: Clock }): Promise<App> {
  const { log, clock = systemClock } = given
  const parts = await openDependencies(config, { log, clock })
  const system = new SystemScope(parts)
  const draining = { now: false }
  const worker = config.roles.includes('worker') ? await startWorker(parts, system, log) : undefined
  const server = config.roles.includes('http') ? await listen(config, parts, system, draining) : undefined
  const url = server && urlOf(server, config.http.host)
  return {
    url,
    system,
    welcome: banner({ url, isEmbedded: parts.store.isEmbedded }),
    async stop(drainMs) {
      draining.now = true
      if (server) await drain(server, drainMs)
      await worker?.stop()
      await parts.close()
    },
  }
}

async function startWorker(
  parts: OpenDependencies,
  system: SystemScope,
  log: Logger,
): Promise<{ stop(): Promise<void> }> {
  await parts.jobs.start(createTasks(system))
  const endDuties = startPeriodicTasks(
    [...periodicTasks(system), { name: 'purge limits', everyMs: 600_000, run: () => parts.limits.purge() }],
    log,
  )
  return {
    async stop() {
      await endDuties()
      await parts.jobs.stop()
    },
  }
}

async function listen(
  config: Config,
  parts: OpenDependencies,
  system: SystemScope,
  draining: { now: boolean },
): Promise<Server> {
  const appOrigins = new Set(config.http.appOrigins)
  const auth = createAuth({ system, lockout: parts.limits.signInLockout, appOrigins, revocations: parts.revocations })
  const inboundWork = createInboundBatcher(system)
  const server = createHttpServer({
    router: appRouter,
    log: parts.log,
    limits: parts.limits,
    appOrigins,
    addressOf: createAddressResolver(config.http.trustedProxies),
    identify: auth.identify,
    inbound: (call) => handleWebhook(inboundWork, call),
    hooks: (call) => handleWebhookCall(system, call),
    scopes: {
      system,
      auth,
      openScope: ({ user }, { id, role }) => new Scope(parts, id, { type: 'user', id: user.id, name: user.name, role }),
    },
    health: {
      async problem() {
        if (draining.now) return 'draining'
        const migrated = await isMigrated(parts.db).catch(() => undefined)
        return migrated ? undefined : migrated === undefined ? 'database unreachable' : 'migrations pending'
      },
    },
  })
  server.listen(config.http.port, config.http.host)
  await once(server, 'listening')
  return server
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Subscriptions never end by themselves; past the deadline whoever is left is cut off. */
async function drain(server: Server, drainMs: number): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const deadline = setTimeout(() => server.closeAllConnections(), drainMs)
  await closed
  clearTimeout(deadline)
}
