import { existsSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { Config } from './config.ts'
import { VERSION } from './http/version.ts'
import { bundleWorker } from './platform/compute/bundle-worker.ts'
import { ComputePool } from './platform/compute/compute-pool.ts'
import { openPools, type Pools } from './platform/database/pools/pools.ts'
import { findServers } from './platform/database/servers/servers.ts'
import { WakeupQueue } from './platform/jobs/wakeup-queue.ts'
import { type Logger, toProcessFields } from './platform/log.ts'
import { count, metrics } from './platform/metrics.ts'
import { fileMail, smtpMail } from './platform/mail.ts'
import { resolveDatabase, type ResolvedDatabase } from './platform/database/resolve-database.ts'
import { PostgresNotifications } from './platform/notifications/postgres.ts'
import { connectRedis, RedisNotifications } from './platform/notifications/redis.ts'
import { openRateLimits, type RateLimits } from './platform/rate-limit/rate-limits.ts'
import { loadOrCreateSecretKeys } from './platform/security/secret-key-file.ts'
import { Secrets } from './platform/security/secrets.ts'
import { DiskSpace } from './platform/files/disk-space.ts'
import { folderStore, removeOldFiles } from './platform/files/folder-store.ts'
import { s3Store } from './platform/files/s3-store.ts'
import { ExpiringCache } from './platform/concurrency/expiring-cache.ts'
import { SharedObjects } from './platform/concurrency/shared-objects.ts'
import { createSingleFlight } from './platform/concurrency/batcher.ts'
import { addMs, type Clock, HOUR } from './platform/time.ts'
import { openTracing } from './platform/tracing/tracing.ts'
import { prepareDatabase } from './prepare-database.ts'
import { DeletedWorkspaces } from './scope/deleted-workspaces.ts'
import { type Dependencies, PORTIONS } from './scope/dependencies.ts'

export type OpenDependencies = Dependencies & {
  database: ResolvedDatabase
  pools: Pools
  jobs: WakeupQueue
  computePool: ComputePool
  limits: RateLimits
  close(): Promise<void>
}

/**
 * Limits of the jobs of each task in a process. Few are at work at a time, so that each handles more items in one
 * transaction; they wait for shared transactions, two of which are open at once. A transaction on a connection that has
 * fallen silent holds only a part of them.
 */
export const JOB_LIMITS = {
  advance: { working: 8, releasedPerKey: 2, all: 60 },
  // A job that waits for a provider costs memory for at most 64 messages.
  deliver: { working: 8, releasedPerKey: 4, all: 200 },
  // A job claims calls and leaves them its place. Hosts may take a minute to answer.
  execute: { working: 4, all: 100 },
  // A job receives at most 4 files.
  'fetch-media': { working: 4, releasedPerKey: 1, all: 60 },
  // A job sends to one endpoint, which may take 15 seconds to answer. Customers get their answers before.
  'deliver-webhooks': { working: 4, releasedPerKey: 1, all: 60, after: ['advance', 'deliver'] },
  'send-read-receipt': { working: 4, releasedPerKey: 1, all: 60 },
  'show-typing': { working: 4, releasedPerKey: 1, all: 60 },
  // Broadcasts have to leave connections for the replies, and a second job of a channel would end at once.
  broadcast: { working: 2, releasedPerKey: 1, all: 8 },
  // Each is a large transaction at a time. Of a workspace there is one; it gives up its place after some seconds.
  'run-jobs': { working: 2, releasedPerKey: 1, all: 4 },
  // What is to stop runs does not wait for an import.
  'run-urgent-jobs': { working: 1, releasedPerKey: 1, all: 4 },
}

/** Received files of this age belong to a process that ended meanwhile. */
const ABANDONED_UPLOAD_MS = HOUR

/** Beside this module, and of its kind: TypeScript source or compiled. */
const COMPUTE_WORKER = new URL(`./compute-worker${extname(import.meta.url)}`, import.meta.url)

/**
 * Opens every long-lived part, each after those it needs; `close` closes them in reverse order. If one cannot be opened,
 * those before it are closed.
 */
export async function openDependencies(
  config: Config,
  { log, clock }: { log: Logger; clock: Clock },
): Promise<OpenDependencies> {
  const closers: (() => unknown)[] = []
  const close = async () => {
    for (const closePart of closers.splice(0).reverse()) await closePart()
  }
  try {
    const { dataDir, redisUrl } = config
    const tracing = await openTracing(config.tracing, { log, process: toProcessFields(config.roles, VERSION) })
    closers.push(() => tracing?.close())
    const database = await findDatabase(config, log)
    const { url, sessionUrl, isPooled } = database
    closers.push(() => database.close())
    closers.push(logPrimaryChanges(url, log))
    const pools = openPools(database, config.database.pools)
    closers.push(() => Promise.all(Object.values(pools).map((pool) => pool.close())))
    await prepareDatabase(database, config.database, log)
    const redis = redisUrl === undefined ? undefined : await connectRedis(redisUrl, log)
    closers.push(() => redis?.destroy())
    const notifications = redis ? new RedisNotifications(redis) : new PostgresNotifications({ url: sessionUrl, log })
    closers.push(() => notifications.close())
    await notifications.open()
    const { preparesStatements } = config.database.pools.background
    const jobs = new WakeupQueue({ url, isPooled, preparesStatements, notifications, limits: JOB_LIMITS, log })
    closers.push(() => jobs.close())
    const limits = await openRateLimits({ url, isPooled, redis, clock, webhookBytes: config.quotas.webhookBytes })
    closers.push(() => limits.close())
    const secrets = new Secrets(config.secretKeys ?? (await loadOrCreateSecretKeys(dataDir)))
    const mail = config.smtpUrl === undefined ? fileMail(join(dataDir, 'mail'), log) : smtpMail(config.smtpUrl)
    const storage = await openStorage(config, { log, clock })
    const computePool = await openComputePool(config, log)
    closers.push(() => computePool.close())
    return {
      connections: pools.engine,
      pools,
      clock,
      log,
      tracing,
      jobs,
      notifications,
      ...createCaches(),
      deletedWorkspaces: new DeletedWorkspaces(notifications),
      secrets,
      mail,
      computePool,
      portions: { ...PORTIONS },
      allowsLoopback: config.allowsLoopback,
      ...storage,
      database,
      limits,
      close,
    }
  } catch (error) {
    // The error of the start is the one to report.
    await close().catch(logCloseFailure(log))
    throw error
  }
}

function createCaches(): Pick<Dependencies, 'singleFlight' | 'shared' | 'cache'> {
  return { singleFlight: createSingleFlight(), shared: new SharedObjects(), cache: new ExpiringCache() }
}

async function openComputePool({ dataDir, computeThreads }: Config, log: Logger): Promise<ComputePool> {
  const worker = await bundleWorker(COMPUTE_WORKER, join(dataDir, 'tmp'))
  return new ComputePool({ worker, threads: computeThreads, log })
}

/** Opens the stored files, and the folder of those that are being received. */
async function openStorage(
  { dataDir, s3, diskFreeBytesMin, quotas }: Config,
  { log, clock }: { log: Logger; clock: Clock },
): Promise<Pick<Dependencies, 'files' | 'uploads'>> {
  const folder = join(dataDir, 'media', 'incoming')
  await removeOldFiles(folder, addMs(clock.now(), -ABANDONED_UPLOAD_MS))
  const disk = new DiskSpace({ folder, freeBytesMin: diskFreeBytesMin, log })
  return {
    files: s3 ? s3Store(s3) : folderStore(join(dataDir, 'media', 'files')),
    uploads: { folder, disk, mediaBytesMax: quotas.mediaBytes },
  }
}

/** Says so before it creates a database: a first start would be silent for some seconds. */
function findDatabase({ database, dataDir, environment }: Config, log: Logger): Promise<ResolvedDatabase> {
  if (database.url === undefined && !existsSync(join(dataDir, 'postgres')))
    log.info({ folder: dataDir }, 'creating the database, which takes some seconds')
  return resolveDatabase({ ...database, dataDir, environment })
}

export function logCloseFailure(log: Logger): (error: unknown) => void {
  return (error) => log.warn({ event: 'connection_close_failed', err: error }, 'could not close every connection')
}

/** Returns the function that ends it. */
function logPrimaryChanges(url: string, log: Logger): () => void {
  const servers = findServers(url)
  const logChange = (from: string, to: string) => {
    count(metrics.primaryChanges, {})
    log.warn({ event: 'database_primary_changed', from, to }, 'the database has another primary server')
  }
  servers?.on('change', logChange)
  return () => servers?.off('change', logChange)
}
