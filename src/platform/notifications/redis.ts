import type { RedisClientType } from 'redis'
import type { Logger } from '../log.ts'
import { SECOND } from '../time.ts'

/**
 * Creates a client that never makes a caller wait: while Redis is unreachable calls fail at once, and the client
 * reconnects by itself. Starting does not wait either. The library, which is large, is loaded only here.
 */
export async function connectRedis(url: string, log: Logger): Promise<RedisClientType> {
  const { createClient } = await import('redis')
  const client: RedisClientType = createClient({
    url,
    disableOfflineQueue: true,
    socket: { connectTimeout: 2 * SECOND, reconnectStrategy: (tries) => Math.min(50 * 2 ** tries, 2 * SECOND) },
  })
  let isUnreachable = false
  client.on('error', (error: unknown) => {
    // Every reconnection attempt fails alike, so only the first is logged.
    if (!isUnreachable) log.warn({ err: error }, 'Redis is unreachable; limits are kept in Postgres meanwhile')
    isUnreachable = true
  })
  client.on('ready', () => {
    if (isUnreachable) log.info('Redis is reachable again')
    isUnreachable = false
  })
  client.connect().catch(() => undefined)
  return client
}
