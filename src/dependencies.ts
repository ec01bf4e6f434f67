import { join } from 'node:path'
import type { Config } from './config.ts'
import { checkServer } from './platform/database/check-postgres-version.ts'
import { migrate, openDatabase, seedIfEmpty } from './platform/database/database.ts'
import { GraphileJobQueue } from './platform/jobs/graphile-job-queue.ts'
import type { Logger } from './platform/log.ts'
import { fileMail, smtpMail } from './platform/mail.ts'
import { openStore, type Store } from './platform/database/resolve-database.ts'
import { PostgresSignals } from './platform/notifications/postgres-notifications.ts'
import { createRateLimits, type RateLimits } from './platform/rate-limit/rate-limits.ts'
import { connectRedis } from './platform/notifications/redis.ts'
import { RedisRevocations } from './platform/notifications/redis-revocations.ts'
import { RedisSignals } from './platform/notifications/redis-notifications.ts'
import { LocalRevocations, type Revocations } from './platform/notifications/revocations.ts'
import { keepSecretKey } from './platform/security/secret-key.ts'
import { Secrets } from './platform/security/secrets.ts'
import { createSharedReads } from './platform/concurrency/single-flight.ts'
import type { Clock } from './platform/time.ts'
import type { Parts } from './scope.ts'

export type OpenParts = Parts & {
  store: Store
  jobs: GraphileJobQueue
  limits: RateLimits
  revocations: Revocations
  close(): Promise<void>
}

/** Everything that outlives a request, in the order in which one needs the other; `close` goes the way back. */
export async function openParts(config: Config, { log, clock }: { log: Logger; clock: Clock }): Promise<OpenParts> {
  const store = await openStore({
    url: config.database.url,
    dataDir: config.dataDir,
    binDir: config.database.binDir,
    environment: config.environment,
  })
  const db = openDatabase(store.url)
  await checkServer(db, log)
  await migrate(db)
  if (store.isEmbedded) await seedIfEmpty(db)
  const jobs = new GraphileJobQueue({ url: store.url, log })
  await jobs.prepare()
  const redis = config.redisUrl === undefined ? undefined : connectRedis(config.redisUrl, log)
  const signals = redis ? new RedisSignals({ client: redis, log }) : new PostgresSignals({ url: store.url, log })
  await signals.open()
  const revocations = redis ? new RedisRevocations({ client: redis, log }) : new LocalRevocations()
  revocations.open()
  const limits = createRateLimits({ url: store.url, redis, clock })
  const secrets = new Secrets(config.secretKey ?? (await keepSecretKey(config.dataDir)))
  const mail = config.smtpUrl === undefined ? fileMail(join(config.dataDir, 'mail'), log) : smtpMail(config.smtpUrl)
  return {
    db,
    clock,
    log,
    jobs,
    signals,
    reads: createSharedReads(),
    secrets,
    mail,
    allowsLoopback: config.allowsLoopback,
    store,
    limits,
    revocations,
    async close() {
      await limits.close()
      await revocations.close()
      await signals.close()
      redis?.destroy()
      await db.destroy()
      await store.close()
    },
  }
}
