import { createClient, type RedisClientType } from 'redis'
import type { Logger } from '../log.ts'
import { SECOND } from '../time.ts'

/**
 * A client that never makes a caller wait for Redis: while it is away calls fail at once, and it comes back by itself.
 * Starting does not wait either.
 */
export function connectRedis(url: string, log: Logger): RedisClientType {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    socket: { connectTimeout: 2 * SECOND, reconnectStrategy: (tries) => Math.min(50 * 2 ** tries, 2 * SECOND) },
  }) as RedisClientType
  let isAway = false
  client.on('error', (error: unknown) => {
    // Every try to come back fails alike: say it once.
    if (!isAway) log.warn({ err: error }, 'Redis is away; limits are kept in Postgres until it is back')
    isAway = true
  })
  client.on('ready', () => {
    if (isAway) log.info('Redis is back')
    isAway = false
  })
  client.connect().catch(() => undefined)
  return client
}
