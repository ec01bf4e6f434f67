import { extname, join } from 'node:path'
import type { Config } from './config.ts'
import { ComputePool } from './platform/compute/compute-pool.ts'
import { checkPostgresVersion, migrate, openDatabase, seedIfEmpty } from './platform/database/database.ts'
import { GraphileJobQueue } from './platform/jobs/graphile-job-queue.ts'
import type { Logger } from './platform/log.ts'
import { fileMail, smtpMail } from './platform/mail.ts'
import { resolveDatabase, type ResolvedDatabase } from './platform/database/resolve-database.ts'
import { PostgresNotifications } from './platform/notifications/postgres-notifications.ts'
import { createRateLimits, type RateLimits } from './platform/rate-limit/rate-limits.ts'
import { connectRedis } from './platform/notifications/redis.ts'
import { RedisRevocations } from './platform/notifications/redis-revocations.ts'
import { RedisNotifications } from './platform/notifications/redis-notifications.ts'
import { LocalRevocations, type Revocations } from './platform/notifications/revocations.ts'
import { loadOrCreateSecretKey, Secrets } from './platform/security/secrets.ts'
import { createSingleFlight } from './platform/concurrency/single-flight.ts'
import type { Clock } from './platform/time.ts'
import type { Dependencies } from './scope.ts'

export type OpenDependencies = Dependencies & {
  database: ResolvedDatabase
  jobs: GraphileJobQueue
  limits: RateLimits
  revocations: Revocations
  close(): Promise<void>
}

/** Beside this module, and of its kind: TypeScript source or compiled. */
const COMPUTE_WORKER = new URL(`./compute-worker${extname(import.meta.url)}`, import.meta.url)

/** Opens every long-lived part, each after those it needs; `close` closes them in reverse order. */
export async function openDependencies(
  config: Config,
  { log, clock }: { log: Logger; clock: Clock },
): Promise<OpenDependencies> {
  const database = await resolveDatabase({
    url: config.database.url,
    dataDir: config.dataDir,
    binDir: config.database.binDir,
    environment: config.environment,
  })
  const db = openDatabase(database.url)
  await checkPostgresVersion(db, log)
  await migrate(db)
  if (database.isEmbedded) await seedIfEmpty(db)
  const jobs = new GraphileJobQueue({ url: database.url, log })
  await jobs.prepare()
  const redis = config.redisUrl === undefined ? undefined : connectRedis(config.redisUrl, log)
  const notifications = redis
    ? new RedisNotifications({ client: redis, log })
    : new PostgresNotifications({ url: database.url, log })
  await notifications.open()
  const revocations = redis ? new RedisRevocations({ client: redis, log }) : new LocalRevocations()
  revocations.open()
  const limits = createRateLimits({ url: database.url, redis, clock })
  const secrets = new Secrets(config.secretKey ?? (await loadOrCreateSecretKey(config.dataDir)))
  const mail = config.smtpUrl === undefined ? fileMail(join(config.dataDir, 'mail'), log) : smtpMail(config.smtpUrl)
  const computePool = new ComputePool({ worker: COMPUTE_WORKER, threads: config.computeThreads, log })
  return {
    db,
    clock,
    log,
    jobs,
    notifications,
    singleFlight: createSingleFlight(),
    secrets,
    mail,
    computePool,
    allowsLoopback: config.allowsLoopback,
    database,
    limits,
    revocations,
    async close() {
      await computePool.close()
      await limits.close()
      await revocations.close()
      await notifications.close()
      redis?.destroy()
      await db.destroy()
      await database.close()
    },
  }
}
