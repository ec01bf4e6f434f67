import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFolder } from '../../platform/create-folder.ts'
import { FOLDER_MODE } from '../../platform/files/file-store.ts'
import { folderStore } from '../../platform/files/folder-store.ts'
import { s3Store } from '../../platform/files/s3-store.ts'
import { newId } from '../../platform/ids.ts'
import { createLogger } from '../../platform/log.ts'
import { connectRedis } from '../../platform/notifications/redis.ts'
import { SECOND } from '../../platform/time.ts'
import { type Check, type Finding, ok, problem, type Subject, warning } from './check.ts'

const REDIS_MS_MAX = 5 * SECOND

type Settings = Pick<Subject, 'config'>

/** Checks of what the settings name besides the database. */
export const SERVICE_CHECKS: Check<Settings>[] = [
  { name: 'files', run: checkFiles },
  { name: 'redis', run: checkRedis },
  { name: 'public-url', run: checkPublicUrl },
]

/** Stores a file, reads it and deletes it. */
async function checkFiles({ config: { s3, dataDir } }: Settings): Promise<Finding> {
  const place = s3 ? `The bucket ${s3.bucket}` : `The folder ${join(dataDir, 'media')}`
  const store = s3 ? s3Store(s3) : folderStore(join(dataDir, 'media', 'files'))
  const id = newId()
  const folder = join(dataDir, 'media', 'incoming')
  const path = join(folder, `doctor-${id}`)
  const content = Buffer.from(`parley doctor ${id}`)
  const key = `doctor/${id}`
  try {
    await createFolder(folder, FOLDER_MODE)
    await writeFile(path, content, { mode: 0o600 })
    await store.put(key, path, { bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') })
    const chunks: Buffer[] = await (await store.open(key)).toArray()
    await store.delete(key)
    if (!Buffer.concat(chunks).equals(content)) return problem(`${place} returned another file than was stored in it`)
    return ok(`${place} stores, returns and deletes files`)
  } catch (error) {
    return problem(`${place} cannot be used: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    await rm(path, { force: true })
  }
}

async function checkRedis({ config: { redisUrl } }: Settings): Promise<Finding | undefined> {
  if (redisUrl === undefined) return undefined
  const client = await connectRedis(redisUrl, createLogger('silent'))
  try {
    if (!client.isReady) await once(client, 'ready', { signal: AbortSignal.timeout(REDIS_MS_MAX) })
    const policy = /^maxmemory_policy:(\S+)/m.exec(await client.info('memory'))?.[1]
    if (policy === 'noeviction') return ok('Redis answers, with the maxmemory-policy noeviction')
    return warning(`Redis has the maxmemory-policy ${policy} and may drop counts of rate limits. Set noeviction`)
  } catch {
    return problem(`Redis does not answer within ${REDIS_MS_MAX / SECOND} seconds. Start it, or correct REDIS_URL`)
  } finally {
    client.destroy()
  }
}

async function checkPublicUrl({ config: { http, roles } }: Settings): Promise<Finding | undefined> {
  if (!roles.includes('http')) return undefined
  const { trustedProxies, appOrigins, publicHosts } = http
  const isBehindProxy = trustedProxies.length > 0
  if (isBehindProxy && appOrigins.length === 0 && publicHosts.length === 0)
    return warning('Behind a proxy, emails need an address to link to. Set APP_ORIGINS or PUBLIC_HOSTS')
  if (isBehindProxy && publicHosts.length === 0)
    return warning('Behind a proxy, calls under any host name are answered. Set PUBLIC_HOSTS')
  const insecure = appOrigins.filter((origin) => origin.startsWith('http:') && !isLoopback(new URL(origin).hostname))
  if (insecure.length > 0)
    return warning(`Browsers send no session cookie from ${insecure.join(', ')}. Use https in APP_ORIGINS`)
  if (publicHosts.length > 0 && !isBehindProxy && publicHosts.some((host) => !isLoopback(host)))
    return warning('PUBLIC_HOSTS is set without TRUSTED_PROXIES: without a proxy that ends TLS, cookies are not sent')
  return ok('The settings of public addresses fit each other')
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host.startsWith('127.') || host === '[::1]'
}
