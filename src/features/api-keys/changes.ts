import { ApiKey as ApiKeyRow } from '../../models/automation.ts'
import { Channel } from '../../models/messaging.ts'
import { ConflictError, ForbiddenError, InvalidError, NotFoundError } from '../../platform/errors.ts'
import { definedFields } from '../../platform/fields.ts'
import { isUuid, newId } from '../../platform/ids.ts'
import { newApiKeySecret } from '../../platform/security/api-key-secret.ts'
import { hashToken } from '../../platform/security/tokens.ts'
import { addMs, DAY } from '../../platform/time.ts'
import { toSender } from '../../scope/dependencies.ts'
import type { Scope } from '../../scope/scope.ts'
import { expandGrants, isPreset } from '../../trpc/api-scopes.ts'
import type { Caller } from '../../trpc/caller.ts'
import type { RequestContext } from '../../trpc/context.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { getApiKey } from './queries.ts'
import type { ApiKey, ApiKeyRef, ApiKeyWithSecret, CreateApiKey, RotateApiKey, UpdateApiKey } from './schema.ts'

const OVERLAP_DEFAULT = DAY

type Rights = Pick<ApiKeyRow, 'grants' | 'ipRanges' | 'channelIds' | 'expiresAt' | 'limitPerMinute'>

/** The scope of the call, who makes it, and the system, which tells all processes of a change. */
type Call = { scope: Scope; caller: Caller } & Pick<RequestContext, 'system'>

/**
 * Creates a key. Its secret is in the answer and nowhere else.
 * @throws ForbiddenError for a key that may do more than the one that creates it; ConflictError `too_many_api_keys`
 */
export async function createApiKey({ scope, caller }: Call, input: CreateApiKey): Promise<ApiKeyWithSecret> {
  const { scopes: grants, ...columns } = input
  assertWithin(caller, { ...columns, grants })
  assertFuture(columns.expiresAt, scope.now())
  return scope.transaction(async (tx) => {
    await assertRowLimit(tx, 'apiKeys')
    await assertChannels(tx, columns.channelIds)
    const id = newId()
    const secret = newApiKeySecret()
    const now = tx.now()
    await tx.query(ApiKeyRow).insert({
      ...columns,
      id,
      grants,
      lastFour: secret.slice(-4),
      createdBy: toSender(tx.actor),
      createdAt: now,
      updatedAt: now,
    })
    await addRoute(tx, id, secret)
    return { ...(await getApiKey(tx, { apiKeyId: id })), key: secret }
  })
}

/**
 * Changes what a key may do, at once and for open streams as well.
 * @throws ForbiddenError if the key may do more than the one that changes it; ConflictError `api_key_revoked`
 */
export async function updateApiKey(
  { scope, caller, system }: Call,
  { apiKeyId, scopes: grants, ...columns }: UpdateApiKey,
): Promise<ApiKey> {
  assertFuture(columns.expiresAt ?? null, scope.now())
  const changes = definedFields({ ...columns, grants })
  const updated = await scope.transaction(async (tx) => {
    const existing = await lockUsable(tx, apiKeyId)
    assertWithin(caller, existing)
    assertWithin(caller, { ...existing, ...changes })
    await assertChannels(tx, columns.channelIds ?? null)
    await tx
      .query(ApiKeyRow)
      .findOne('id', apiKeyId)
      .patch({ ...changes, updatedAt: tx.now() })
    return getApiKey(tx, { apiKeyId })
  })
  system.notifications.publish('revocations', updated.id)
  return updated
}

/**
 * Replaces the secret. The present one works until the end of the overlap, and one from before it ends at once.
 * @throws ForbiddenError if the key may do more than the one that rotates it; ConflictError `api_key_revoked`
 */
export async function rotateApiKey(
  { scope, caller, system }: Call,
  { apiKeyId, overlap = OVERLAP_DEFAULT }: RotateApiKey,
): Promise<ApiKeyWithSecret> {
  const secret = newApiKeySecret()
  const rotated = await scope.transaction(async (tx) => {
    const existing = await lockUsable(tx, apiKeyId)
    assertWithin(caller, existing)
    const previousExpiresAt = overlap > 0 ? addMs(tx.now(), overlap) : null
    const columns = { lastFour: secret.slice(-4), previousExpiresAt, updatedAt: tx.now() }
    await tx.query(ApiKeyRow).findOne('id', apiKeyId).patch(columns)
    await tx.sql('deletePreviousRoute')`
      delete from api_key_routes where tenant_id = ${tx.tenantId} and api_key_id = ${existing.id}
        and (expires_at is not null or ${previousExpiresAt}::timestamptz is null)`
    await tx.sql('limitPresentRoute')`
      update api_key_routes set expires_at = ${previousExpiresAt}
      where tenant_id = ${tx.tenantId} and api_key_id = ${existing.id}`
    await addRoute(tx, existing.id, secret)
    return getApiKey(tx, { apiKeyId })
  })
  system.notifications.publish('revocations', rotated.id)
  return { ...rotated, key: secret }
}

/** Ends a key, at once and for open streams as well. Its row stays, as messages and runs name it. */
export async function revokeApiKey({ scope, system }: Call, { apiKeyId }: ApiKeyRef): Promise<Record<string, never>> {
  const id = await scope.transaction(async (tx) => {
    const { id: lockedId, revokedAt } = await lockKey(tx, apiKeyId)
    await tx.sql('deleteRoutes')`
      delete from api_key_routes where tenant_id = ${tx.tenantId} and api_key_id = ${lockedId}`
    const now = tx.now()
    if (!revokedAt) await tx.query(ApiKeyRow).findOne('id', lockedId).patch({ revokedAt: now, updatedAt: now })
    return lockedId
  })
  system.notifications.publish('revocations', id)
  return {}
}

function addRoute(tx: Scope, apiKeyId: string, secret: string): Promise<unknown> {
  return tx.sql('addRoute')`
    insert into api_key_routes (secret_hash, tenant_id, api_key_id) values (${hashToken(secret)}, ${tx.tenantId}, ${apiKeyId})`
}

async function lockKey(tx: Scope, apiKeyId: string): Promise<ApiKeyRow> {
  const row = isUuid(apiKeyId) ? await tx.query(ApiKeyRow).findOne('id', apiKeyId).forUpdate() : undefined
  if (!row) throw new NotFoundError('API key')
  return row
}

async function lockUsable(tx: Scope, apiKeyId: string): Promise<ApiKeyRow> {
  const row = await lockKey(tx, apiKeyId)
  if (row.revokedAt) throw new ConflictError('api_key_revoked', 'The API key is revoked. Create another one')
  return row
}

function assertFuture(expiresAt: Date | null, now: Date): void {
  if (expiresAt === null || expiresAt > now) return
  throw new InvalidError('expiresAt must be in the future', [{ path: 'expiresAt', message: 'must be in the future' }])
}

async function assertChannels(tx: Scope, channelIds: string[] | null): Promise<void> {
  if (channelIds === null) return
  const found = channelIds.every(isUuid) ? await tx.query(Channel).whereIn('id', channelIds).resultSize() : 0
  if (found < channelIds.length) throw new NotFoundError('Channel')
}

/** Members who manage keys may do everything; a key gives no other one rights that it has not. */
function assertWithin(caller: Caller, { grants, ipRanges, channelIds, expiresAt, limitPerMinute }: Rights): void {
  if (!('key' in caller)) return
  const { key } = caller
  const isWithin =
    isSubset(expandGrants(grants), key.scopes) &&
    // A later version may add scopes to a preset.
    grants.every((grant) => !isPreset(grant) || key.grants.includes(grant) || key.grants.includes('full')) &&
    isSubset(ipRanges, key.ipRanges) &&
    isSubset(channelIds, key.channelIds) &&
    limitPerMinute <= key.limitPerMinute &&
    (key.expiresAt === null || (expiresAt !== null && expiresAt <= key.expiresAt))
  if (isWithin) return
  throw new ForbiddenError(undefined, undefined, {
    error: 'insufficient_scope',
    error_description: 'An API key cannot give or change rights that it does not have itself',
  })
}

/** Null stands for everything. */
function isSubset(part: Iterable<string> | null, whole: Iterable<string> | null): boolean {
  if (whole === null) return true
  const all = new Set(whole)
  return part !== null && [...part].every((item) => all.has(item))
}
