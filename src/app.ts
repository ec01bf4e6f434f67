import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { SEND_MAX_MS } from './channels/channel.ts'
import type { Config } from './config.ts'
import { createAuth } from './features/auth/create-auth.ts'
import { handleWebhook, isWebhookChannel } from './features/inbound/handle-webhook.ts'
import { createInboundBatcher } from './features/inbound/inbound-batcher.ts'
import { openMedia } from './features/media/open-media.ts'
import { handleWebhookCall } from './features/workflow-webhooks/handle-call.ts'
import { isWebhook } from './features/workflow-webhooks/queries.ts'
import { watchEvents } from './features/webhook-endpoints/jobs.ts'
import { createHostCheck, listCrossSiteOrigins, listOwnOrigins, toOrigin } from './http/security/check-host.ts'
import { CROSS_SITE } from './http/security/origin.ts'
import { ConnectionDrain } from './http/load/connection-drain.ts'
import { createHttpServer } from './http/server.ts'
import { createTasks, hasDueWork, periodicTasks } from './jobs.ts'
import { createAddressResolver, createProxyCheck } from './platform/client-address.ts'
import { withinTime } from './platform/concurrency/deadline.ts'
import { closeDatabase, openDatabase, sqlState } from './platform/database/database.ts'
import { synchronizeClock } from './platform/database/synchronize-clock.ts'
import { startPeriodicTasks } from './platform/jobs/periodic-tasks.ts'
import type { Logger } from './platform/log.ts'
import { type Clock, MINUTE, SECOND, systemClock } from './platform/time.ts'
import { logCloseFailure, openDependencies, type OpenDependencies } from './dependencies.ts'
import { createReadiness, type Observability, type Readiness, startObservability } from './observability.ts'
import { DOWNLOADS, UPLOADS } from './transfers.ts'
import { appRouter } from './router.ts'
import type { Actor } from './scope/dependencies.ts'
import { Scope } from './scope/scope.ts'
import type { Caller } from './trpc/caller.ts'
import { SystemScope } from './scope/system-scope.ts'
import { ConfigError } from './platform/process/config-error.ts'
import { getField } from './platform/fields.ts'
import { AUTH_PREFIX, CONSOLE_PATH, DOCS_PATH } from './http/paths.ts'
import { type DemoAccount, findDemoAccount } from './demo-account.ts'

export type App = {
  /** The address of the HTTP server; undefined for a process that only works in the background. */
  url: string | undefined
  /** The address of the server of metrics, if there is one. */
  metricsUrl: string | undefined
  system: SystemScope
  /** True if no job that this process has taken over is in progress, and what it enqueued for others is in the queue. */
  isIdle(): boolean
  /** Lines for the person who started the process: its address, how to sign in and what to try. */
  banner(options: { isLog: boolean }): string[]
  /**
   * Stops accepting after `DRAIN_DELAY_MS`, finishes requests for at most `drainMs` and jobs for at most 18 seconds, then closes every part in
   * reverse order.
   */
  stop(drainMs: number): Promise<void>
}

type AppOptions = {
  log: Logger
  clock?: Clock
  /** Called when this process can do no background work any more and should be replaced by another one. */
  onStuck?: (() => void) | undefined
}

/** Builds every long-lived part once, in order, and starts the configured roles. */
export async function createApp(config: Config, options: AppOptions): Promise<App> {
  if (config.roles.includes('http')) await assertPortFree(config.http)
  const observability = await startObservability(config)
  try {
    return await startApp(config, { clock: systemClock, ...options, observability })
  } catch (error) {
    await observability?.stop()
    throw error
  }
}

async function startApp(
  config: Config,
  options: AppOptions & { clock: Clock; observability: Observability | undefined },
): Promise<App> {
  const { log, clock, onStuck, observability } = options
  const dependencies = await openDependencies(config, { log, clock })
  let stopClock = () => {}
  const system = new SystemScope(dependencies)
  const shutdown = { isDraining: false }
  const readiness = createReadiness(dependencies, config, shutdown)
  let worker: Awaited<ReturnType<typeof startWorker>> | undefined
  let server: Server | undefined
  let demoAccount: DemoAccount | undefined
  try {
    stopClock = await synchronizeClock(dependencies.pools.background.db, log)
    if (config.roles.includes('worker')) worker = await startWorker(dependencies, system, { log, onStuck })
    demoAccount = await findDemoAccount(system.db, dependencies.database)
    if (config.roles.includes('http')) server = await listen(config, dependencies, { readiness, demoAccount })
    observability?.use(dependencies, readiness)
  } catch (error) {
    stopClock()
    await worker?.stop(WORKER_STOP_MAX_MS)
    await dependencies.close()
    throw error
  }
  const url = server && serverUrl(server, config.http.host)
  const connections = server && new ConnectionDrain(server)
  return {
    url,
    metricsUrl: observability?.url,
    system,
    isIdle: () => dependencies.jobs.isIdle,
    banner: ({ isLog }) => banner({ url, demo: demoAccount, dataDir: config.dataDir, isLog }),
    async stop(drainMs) {
      shutdown.isDraining = true
      connections?.begin()
      stopClock()
      // The worker claims nothing more from now on.
      const workerStops = worker?.stop(WORKER_STOP_MAX_MS)
      // Without the database nothing in flight can finish.
      const isReachable = await isAnswering(dependencies)
      await Promise.all([
        connections &&
          closeAfter(config.http.drainDelayMs, connections, isReachable ? drainMs : UNREACHABLE_STOP_MAX_MS),
        isReachable
          ? workerStops
          : withinTime(UNREACHABLE_STOP_MAX_MS, Promise.resolve(workerStops)).catch(logCloseFailure(log)),
      ])
      if (isReachable) await dependencies.close()
      else await withinTime(UNREACHABLE_STOP_MAX_MS, dependencies.close()).catch(logCloseFailure(log))
      await observability?.stop()
    },
  }
}

/** Throws EADDRINUSE or ConfigError before a database is created and filled, for nothing, rather than after it. */
async function assertPortFree({ port, host }: Config['http']): Promise<void> {
  const probe = createServer((socket) => socket.destroy()).listen(port, host)
  await once(probe, 'listening').catch((error: unknown) => {
    const isForeign = ['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL', 'EINVAL'].includes(String(getField(error, 'code')))
    throw isForeign ? new ConfigError([`HOST: ${host} is no address of this machine`]) : error
  })
  probe.close()
  await once(probe, 'close')
}

/** Serves requests until the load balancers have noticed that this process is not ready. */
async function closeAfter(delayMs: number, connections: ConnectionDrain, drainMs: number): Promise<void> {
  await delay(delayMs)
  await connections.close(drainMs)
}

/** The sends in flight are finished, and their results stored. */
const WORKER_STOP_MAX_MS = SEND_MAX_MS + 3 * SECOND
const UNREACHABLE_STOP_MAX_MS = SECOND
/** A database that is merely busy answers in this time. */
const PROBE_MAX_MS = 5 * SECOND
const TOO_MANY_CONNECTIONS = '53300'

async function startWorker(
  dependencies: OpenDependencies,
  system: SystemScope,
  { log, onStuck }: Pick<AppOptions, 'log' | 'onStuck'>,
): Promise<{ stop(graceMs: number): Promise<void> }> {
  const { jobs, limits, pools } = dependencies
  // What periodic tasks find is for the process that has time for it.
  const background = new SystemScope({ ...dependencies, connections: pools.background, jobs: jobs.shared })
  await jobs.start(createTasks(system), onStuck)
  const stopWatching = watchEvents(system)
  const purgeLimits = { name: 'purge limits', everyMs: 10 * MINUTE, run: () => limits.purge() }
  const tasks = [...periodicTasks(background), purgeLimits]
  const stopPeriodicTasks = startPeriodicTasks(tasks, {
    db: pools.background.db,
    log,
    notifications: dependencies.notifications,
    hasDueWork: (aheadMs) => hasDueWork(background, tasks, aheadMs),
  })
  return {
    async stop(graceMs) {
      stopWatching()
      await Promise.all([stopPeriodicTasks(graceMs), jobs.stop(graceMs)])
    },
  }
}

async function listen(
  config: Config,
  dependencies: OpenDependencies,
  { readiness, demoAccount }: { readiness: Readiness; demoAccount: DemoAccount | undefined },
): Promise<Server> {
  const { pools, limits, log, tracing } = dependencies
  const appOrigins = new Set(config.http.appOrigins)
  for (const origin of listCrossSiteOrigins(config.http)) log.warn({ event: 'cross_site_origin', origin }, CROSS_SITE)
  const forRequests = { ...dependencies, connections: pools.requests }
  const system = new SystemScope(forRequests)
  const webhooks = new SystemScope({ ...dependencies, connections: pools.webhooks })
  const pageOrigins = new Set(appOrigins)
  const auth = createAuth({ system, lockout: limits.signInLockout, pageOrigins })
  const inboundBatcher = createInboundBatcher(webhooks)
  const server = createHttpServer({
    router: appRouter,
    log,
    tracing,
    limits,
    appOrigins,
    resolveAddress: createAddressResolver(config.http.trustedProxies),
    isProxy: createProxyCheck(config.http.trustedProxies),
    isHostAllowed: createHostCheck(config.http),
    loopLagMaxMs: config.http.loopLagMaxMs,
    identify: auth.identify,
    identifyKey: auth.identifyKey,
    demoAccount,
    isProduction: config.environment['NODE_ENV'] === 'production',
    providerWebhooks: {
      isKnown: (address) => isWebhookChannel(inboundBatcher, address),
      handle: (call) => handleWebhook({ batcher: inboundBatcher, limits }, call),
    },
    media: { open: (request) => openMedia(system, request) },
    workflowWebhooks: {
      isKnown: (id) => isWebhook(webhooks, id),
      handle: (call) => handleWebhookCall({ system: webhooks, limits }, call),
    },
    downloads: DOWNLOADS,
    uploads: UPLOADS,
    scopes: {
      system,
      auth,
      openScope: ({ network, span }, caller, workspaceId, signal, audit) =>
        new Scope(forRequests, workspaceId, toActor(caller, network), { signal, audit, span }),
    },
    findReadinessProblem: readiness,
  })
  server.listen(config.http.port, config.http.host)
  await once(server, 'listening')
  if (pageOrigins.size === 0) {
    for (const origin of listOwnOrigins(config.http, findPort(server))) pageOrigins.add(origin)
  }
  return server
}

function toActor(caller: Caller, network: string): Actor {
  if (!('key' in caller)) return { type: 'user', id: caller.user.id, name: caller.user.name, network }
  const { id, name, scopes, channelIds } = caller.key
  return { type: 'key', id, name, scopes, channelIds, network }
}

/** Asks on a connection of its own, as those of the pools may all be busy or wait for a lock. */
async function isAnswering({ database }: OpenDependencies): Promise<boolean> {
  const db = openDatabase(database.url, { connections: 1, name: 'parley stop' })
  try {
    await withinTime(PROBE_MAX_MS, Promise.resolve(db.raw('select 1')))
    return true
  } catch (error) {
    return sqlState(error) === TOO_MANY_CONNECTIONS
  } finally {
    void closeDatabase(db).catch(() => undefined)
  }
}

function serverUrl(server: Server, host: string): string {
  return toOrigin(host, findPort(server))
}

function findPort(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

type Options = {
  url: string | undefined
  demo: DemoAccount | undefined
  dataDir: string
  /** True if the lines are logged, where no password belongs, and not shown at a terminal. */
  isLog: boolean
}

/**
 * Builds the lines that are printed after the start. They name the server `localhost`, as the servers of web applications
 * in development do: for browsers 127.0.0.1 is another site, to which a page there sends no session cookie.
 */
function banner(options: Options): string[] {
  const { demo, dataDir, isLog } = options
  if (options.url === undefined) return ['Parley runs background work only; this process serves no HTTP']
  const url = options.url.replace('//127.0.0.1:', '//localhost:')
  const post = (path: string, body: string) =>
    `curl -i ${url}${AUTH_PREFIX}${path} -H 'content-type: application/json' -d '${body}'`
  const account = !demo
    ? `Sign up: ${post('/sign-up/email', '{"name":"...","email":"...","password":"..."}')}`
    : isLog
      ? `Sign in: ${url} shows the demo account`
      : `Sign in: ${post('/sign-in/email', JSON.stringify({ email: demo.email, password: demo.password }))}`
  return [
    `Parley is listening on ${url}`,
    `Console: ${url}${CONSOLE_PATH}`,
    account,
    `Files: ${dataDir}`,
    demo
      ? `Next: the example in README.md, or the documentation at ${url}${DOCS_PATH}`
      : `Next: the documentation at ${url}${DOCS_PATH}. "npm run seed" adds the demo workspace of the example in README.md`,
    ...(isLog ? [] : ['Stop: Ctrl+C']),
  ]
}
