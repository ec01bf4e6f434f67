import { LRUCache } from 'lru-cache'
import { createNetworkCheck } from '../../platform/client-address.ts'
import { Batcher } from '../../platform/concurrency/batcher.ts'
import { withinTime } from '../../platform/concurrency/deadline.ts'
import {
  type AppError,
  type Challenge,
  ForbiddenError,
  UnauthorizedError,
  UnavailableError,
} from '../../platform/errors.ts'
import { isApiKeySecret } from '../../platform/security/api-key-secret.ts'
import { hashToken } from '../../platform/security/tokens.ts'
import { addMs, MINUTE, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { expandGrants } from '../../trpc/api-scopes.ts'
import type { KeyAccess, KeyCaller } from '../../trpc/caller.ts'

/** The longest time that a revocation by another process goes unnoticed if its notification is lost. */
const CACHE_MS = SECOND
const CACHE_ENTRIES_MAX = 10_000
/** The longest wait for a part of a lookup. */
const LOOKUP_MAX_MS = 5 * SECOND
/** Secrets that are looked up by one statement. */
const BATCH_MAX = 50
const WAITING_MAX = 2_000

type Row = Omit<KeyAccess, 'hash' | 'scopes' | 'workspaceId'> & { lastUsedAt: Date | null }
type FoundKey = { access: KeyAccess; isAllowed: (ipAddress: string) => boolean }

const INVALID: Challenge = {
  error: 'invalid_token',
  error_description: 'The API key is unknown, expired or revoked, or its text is incomplete',
}
const OTHER_NETWORK: Challenge = {
  error: 'invalid_token',
  error_description: 'The API key may not be used from this IP address',
}

/**
 * Finds the keys of requests. Nothing is charged before, so the secrets of a crowd wait for each other, on two connections
 * at most: one for secrets that were valid here before, which others cannot hold up, and one for the rest. Found keys are
 * cached for a second; others are not, as anybody could fill the cache with them.
 */
export class ApiKeys {
  readonly #system: SystemScope
  readonly #cache = new LRUCache<string, FoundKey & { until: Date }>({ max: CACHE_ENTRIES_MAX })
  /** Hashes of secrets that were valid. */
  readonly #known = new LRUCache<string, true>({ max: CACHE_ENTRIES_MAX })
  readonly #routes: Batcher<Buffer, Route | undefined>
  readonly #lookups = new Map<string, Promise<FoundKey | undefined>>()
  #revocationCount = 0

  constructor(system: SystemScope) {
    this.#system = system
    this.#routes = new Batcher({
      work: (_lane, hashes) => findRoutes(system, hashes),
      batchMax: BATCH_MAX,
      waitingMax: WAITING_MAX,
    })
    system.notifications.subscribe('revocations', (id) => {
      this.#revocationCount += 1
      // Requests from now on do not wait for what is read already.
      this.#lookups.clear()
      if (id === undefined) return this.#cache.clear()
      const stale = [...this.#cache.entries()].filter(([, { access }]) => access.id === id)
      for (const [key] of stale) this.#cache.delete(key)
    })
  }

  /**
   * Returns what the key with this secret allows, or the reason why it is not accepted.
   * @throws UnavailableError if the database does not answer soon, or too many secrets are being looked up
   */
  async identify({ secret, ipAddress }: { secret: string; ipAddress: string }): Promise<KeyAccess | Challenge> {
    const found = isApiKeySecret(secret) ? await this.#find(hashToken(secret)) : undefined
    if (!found) return INVALID
    return found.isAllowed(ipAddress) ? found.access : OTHER_NETWORK
  }

  /** Returns the error if a key that was accepted is not valid any more, or has other rights. */
  async check({ key }: KeyCaller): Promise<AppError | undefined> {
    const found = await this.#lookUp(key.hash)
    if (!found) return new UnauthorizedError()
    const rights = ({ grants, ipRanges, channelIds }: KeyAccess) => JSON.stringify([grants, ipRanges, channelIds])
    return rights(found.access) === rights(key) ? undefined : new ForbiddenError()
  }

  async #find(hash: Buffer): Promise<FoundKey | undefined> {
    const cacheKey = hash.toString('base64url')
    const cached = this.#cache.get(cacheKey)
    const now = this.#system.now()
    if (cached && now < cached.until) return cached
    const countBefore = this.#revocationCount
    const found = await this.#lookUpOnce(cacheKey, hash)
    if (!found) return undefined
    const { expiresAt } = found.access
    const cachedUntil = addMs(now, CACHE_MS)
    const until = expiresAt && expiresAt < cachedUntil ? expiresAt : cachedUntil
    // What was read before a revocation may be the revoked key.
    if (this.#revocationCount === countBefore) this.#cache.set(cacheKey, { ...found, until })
    return found
  }

  #lookUpOnce(cacheKey: string, hash: Buffer): Promise<FoundKey | undefined> {
    const existing = this.#lookups.get(cacheKey)
    if (existing) return existing
    const lookup = this.#lookUp(hash).finally(() => {
      if (this.#lookups.get(cacheKey) === lookup) this.#lookups.delete(cacheKey)
    })
    this.#lookups.set(cacheKey, lookup)
    return lookup
  }

  async #lookUp(hash: Buffer): Promise<FoundKey | undefined> {
    const key = hash.toString('base64url')
    const route = await withinTime(
      LOOKUP_MAX_MS,
      this.#routes.do(this.#known.has(key) ? 'known' : 'unknown', hash),
    ).catch(toUnavailable)
    // The statements of a workspace that is busy wait for its share of the connections, and hold up no other key.
    const found = route && (await withinTime(LOOKUP_MAX_MS, loadKey(this.#system, route)).catch(toUnavailable))
    if (found) this.#known.set(key, true)
    else this.#known.delete(key)
    return found
  }
}

function toUnavailable(cause: unknown): never {
  throw new UnavailableError('API keys cannot be checked at the moment. Try again in a few seconds', 5, { cause })
}

async function findRoutes(system: SystemScope, hashes: Buffer[]): Promise<(Route | undefined)[]> {
  const routes = await system.sql<Route>('findApiKeyRoutes')`
    select secret_hash, tenant_id, api_key_id, expires_at from api_key_routes
    where secret_hash = any(${hashes}) and (expires_at is null or expires_at > ${system.now()})`
  const byHash = new Map(routes.map((route) => [route.secretHash.toString('base64url'), route]))
  return hashes.map((hash) => byHash.get(hash.toString('base64url')))
}

type Route = { secretHash: Buffer; tenantId: string; apiKeyId: string; expiresAt: Date | null }

async function loadKey(
  system: SystemScope,
  { secretHash: hash, tenantId, apiKeyId, expiresAt: secretExpiresAt }: Route,
): Promise<FoundKey | undefined> {
  const scope = system.forTenant(tenantId)
  const now = scope.now()
  const [row] = await scope.sql<Row>('findApiKey')`
    select id, name, grants, ip_ranges, channel_ids, limit_per_minute, expires_at, last_used_at from api_keys
    where tenant_id = ${tenantId} and id = ${apiKeyId} and revoked_at is null
      and (expires_at is null or expires_at > ${now})`
  if (!row) return undefined
  const { lastUsedAt, ...access } = row
  if (lastUsedAt === null || lastUsedAt < addMs(now, -MINUTE)) {
    // Nobody waits for it, as somebody may be changing the key.
    markUsed(scope, apiKeyId).catch((error: unknown) =>
      scope.log.warn({ event: 'api_key_use_unrecorded', err: error }, 'use of an API key not recorded'),
    )
  }
  const ends = [row.expiresAt, secretExpiresAt].filter((end) => end !== null)
  return {
    access: {
      ...access,
      workspaceId: tenantId,
      hash,
      scopes: expandGrants(access.grants),
      expiresAt: ends.length > 0 ? new Date(Math.min(...ends.map(Number))) : null,
    },
    isAllowed: access.ipRanges ? createNetworkCheck(access.ipRanges) : () => true,
  }
}

async function markUsed(scope: Scope, apiKeyId: string): Promise<void> {
  const now = scope.now()
  await scope.sql('markApiKeyUsed')`
    update api_keys set last_used_at = ${now} where tenant_id = ${scope.tenantId} and id = ${apiKeyId}
      and (last_used_at is null or last_used_at < ${addMs(now, -MINUTE)})`
}
