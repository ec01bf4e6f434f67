import { ApiKey as ApiKeyRow } from '../../models/automation.ts'
import { Channel } from '../../models/messaging.ts'
import { ConflictError, ForbiddenError, InvalidError, NotFoundError, UnauthorizedError } from '../../platform/errors.ts'
import { definedFields } from '../../platform/fields.ts'
import { isUuid, newId } from '../../platform/ids.ts'
import { newApiKeySecret } from '../../platform/security/api-key-secret.ts'
import { hashToken } from '../../platform/security/tokens.ts'
import { addMs, DAY } from '../../platform/time.ts'
import { includesRole, type Role, toSender } from '../../scope/dependencies.ts'
import { lockOpenWorkspace } from '../../scope/deleted-workspaces.ts'
import type { Scope } from '../../scope/scope.ts'
import { expandGrants, isPreset } from '../../trpc/api-scopes.ts'
import type { Caller, UserCaller } from '../../trpc/caller.ts'
import type { RequestContext } from '../../trpc/context.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { getApiKey } from './queries.ts'
import type { ApiKey, ApiKeyRef, ApiKeyWithSecret, CreateApiKey, RotateApiKey, UpdateApiKey } from './schema.ts'

const OVERLAP_DEFAULT = DAY
/** Secrets of a key beside the present one, which have an end. */
const PREVIOUS_SECRETS_MAX = 4

type Rights = Pick<ApiKeyRow, 'grants' | 'ipRanges' | 'channelIds' | 'expiresAt' | 'limitPerMinute'>

/** The scope of the call, who makes it, and the system, which tells all processes of a change. */
type Call = { scope: Scope; caller: Caller } & Pick<RequestContext, 'system'>

/**
 * Creates a key. Its secret is in the answer and nowhere else.
 * @throws ForbiddenError for a key that may do more than the one that creates it; ConflictError `too_many_api_keys`
 */
export async function createApiKey({ scope, caller }: Call, input: CreateApiKey): Promise<ApiKeyWithSecret> {
  const { scopes: grants, ...columns } = input
  assertFuture(columns.expiresAt, scope.now())
  return scope.transaction(async (tx) => {
    const { own, holders } = await lockKeys(tx, caller, [])
    assertWithin(own, { ...columns, grants })
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
      knownTo: holders,
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
    const { own, target } = await lockTarget(tx, caller, apiKeyId)
    assertUsable(target)
    assertWithin(own, { ...target, ...changes })
    tx.audit?.compareWith({ ...target, scopes: target.grants })
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
 * Replaces the secret. Those from before work until the end of the overlap, or until their own; without an overlap they
 * end at once.
 * @throws ForbiddenError if the key may do more than the one that rotates it; ConflictError `api_key_revoked`
 */
export async function rotateApiKey(
  { scope, caller, system }: Call,
  { apiKeyId, overlap = OVERLAP_DEFAULT }: RotateApiKey,
): Promise<ApiKeyWithSecret> {
  const secret = newApiKeySecret()
  const rotated = await scope.transaction(async (tx) => {
    const { target: existing, holders } = await lockTarget(tx, caller, apiKeyId)
    assertUsable(existing)
    if (existing.expiresAt && existing.expiresAt <= tx.now())
      throw new ConflictError('api_key_expired', 'The API key has expired. Give it another expiresAt first')
    const previousExpiresAt = overlap > 0 ? addMs(tx.now(), overlap) : null
    const columns = {
      lastFour: secret.slice(-4),
      previousExpiresAt,
      // Who knows a former secret holds the key as long as that may work.
      knownTo: previousExpiresAt ? [...new Set([...existing.knownTo, ...holders])] : holders,
      updatedAt: tx.now(),
    }
    await tx.query(ApiKeyRow).findOne('id', apiKeyId).patch(columns)
    if (previousExpiresAt) await limitSecrets(tx, existing.id, previousExpiresAt)
    else await deleteSecrets(tx, existing.id)
    await addRoute(tx, existing.id, secret)
    return getApiKey(tx, { apiKeyId })
  })
  system.notifications.publish('revocations', rotated.id)
  return { ...rotated, key: secret }
}

/**
 * Ends a key, at once and for open streams as well. Its row stays, as messages and runs name it.
 * @throws ForbiddenError if the key may do more than the one that revokes it
 */
export async function revokeApiKey(
  { scope, caller, system }: Call,
  { apiKeyId }: ApiKeyRef,
): Promise<Record<string, never>> {
  const id = await scope.transaction(async (tx) => {
    const { target } = await lockTarget(tx, caller, apiKeyId)
    const { id: lockedId, revokedAt } = target
    await deleteSecrets(tx, lockedId)
    const now = tx.now()
    if (!revokedAt) await tx.query(ApiKeyRow).findOne('id', lockedId).patch({ revokedAt: now, updatedAt: now })
    return lockedId
  })
  system.notifications.publish('revocations', id)
  return {}
}

/**
 * Sets the end of the present secrets. One that ends earlier keeps its end, so that a rotation whose answer was lost, and
 * which is therefore repeated, does not end the secret in use.
 */
async function limitSecrets(tx: Scope, apiKeyId: string, expiresAt: Date): Promise<void> {
  await tx.sql('limitSecrets')`
    update api_key_routes set expires_at = least(coalesce(expires_at, ${expiresAt}), ${expiresAt})
    where tenant_id = ${tx.tenantId} and api_key_id = ${apiKeyId}`
  await tx.sql('deleteOldestSecrets')`
    delete from api_key_routes where tenant_id = ${tx.tenantId} and api_key_id = ${apiKeyId} and secret_hash in (
      select secret_hash from api_key_routes where tenant_id = ${tx.tenantId} and api_key_id = ${apiKeyId}
      order by expires_at desc, secret_hash offset ${PREVIOUS_SECRETS_MAX})`
}

async function deleteSecrets(tx: Scope, apiKeyId: string): Promise<void> {
  await tx.sql('deleteSecrets')`
    delete from api_key_routes where tenant_id = ${tx.tenantId} and api_key_id = ${apiKeyId}`
}

function addRoute(tx: Scope, apiKeyId: string, secret: string): Promise<unknown> {
  return tx.sql('addRoute')`
    insert into api_key_routes (secret_hash, tenant_id, api_key_id) values (${hashToken(secret)}, ${tx.tenantId}, ${apiKeyId})`
}

/**
 * Locks a key, and the one that makes the call if it is one.
 * @throws NotFoundError; ForbiddenError if the key may do more than the one that makes the call
 */
async function lockTarget(
  tx: Scope,
  caller: Caller,
  apiKeyId: string,
): Promise<{ own: Rights | null; holders: string[]; target: ApiKeyRow }> {
  const { own, holders, rows } = await lockKeys(tx, caller, isUuid(apiKeyId) ? [apiKeyId.toLowerCase()] : [])
  const target = rows.find(({ id }) => id === apiKeyId.toLowerCase())
  if (!target) throw new NotFoundError('API key')
  assertWithin(own, target)
  return { own, holders, target }
}

type Locked = { own: Rights | null; holders: string[]; rows: ApiKeyRow[] }

/**
 * Locks keys, and the one that makes the call if it is one. `holders` are the people to whom a new secret is given. The lock
 * of the members comes first: who is being removed, and a key that is being revoked, leave no other one behind.
 * @throws UnauthorizedError if the key has been revoked since the call began; ForbiddenError for a member who may not manage
 * keys any more
 */
async function lockKeys(tx: Scope, caller: Caller, ids: string[]): Promise<Locked> {
  if (!(await lockOpenWorkspace(tx))) throw 'key' in caller ? new UnauthorizedError() : new ForbiddenError()
  const key = 'key' in caller ? caller.key : undefined
  const locked = [...ids, ...(key ? [key.id] : [])]
  const rows = locked.length > 0 ? await tx.query(ApiKeyRow).whereIn('id', locked).orderBy('id').forUpdate() : []
  if (!('key' in caller)) {
    await assertManagesKeys(tx, caller)
    return { own: null, holders: [caller.user.id], rows }
  }
  const own = rows.find(({ id }) => id === caller.key.id)
  if (!own || own.revokedAt) throw new UnauthorizedError()
  // The end of the secret, if that is earlier.
  return { own: { ...own, expiresAt: caller.key.expiresAt }, holders: own.knownTo, rows }
}

/** Reads the role under the lock of the members, as that of the request may be seconds old. @throws ForbiddenError */
async function assertManagesKeys(tx: Scope, { user }: UserCaller): Promise<void> {
  const [member] = await tx.sql<{ role: Role }>('readOwnRole')`
    select role from memberships where workspace_id = ${tx.tenantId} and user_id = ${user.id}`
  if (!member || !includesRole(member.role, 'admin')) throw new ForbiddenError()
}

function assertUsable({ revokedAt }: ApiKeyRow): void {
  if (revokedAt) throw new ConflictError('api_key_revoked', 'The API key is revoked. Create another one')
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

/**
 * Members who manage keys may do everything; a key gives, changes and takes no rights that it has not.
 * @throws ForbiddenError that names the fields which give more
 */
function assertWithin(own: Rights | null, { grants, ipRanges, channelIds, expiresAt, limitPerMinute }: Rights): void {
  if (!own) return
  const isWithin = {
    scopes:
      isSubset(expandGrants(grants), expandGrants(own.grants)) &&
      // A later version may add scopes to a preset.
      grants.every((grant) => !isPreset(grant) || own.grants.includes(grant) || own.grants.includes('full')),
    ipRanges: isSubset(ipRanges, own.ipRanges),
    channelIds: isSubset(channelIds, own.channelIds),
    expiresAt: own.expiresAt === null || (expiresAt !== null && expiresAt <= own.expiresAt),
    limitPerMinute: limitPerMinute <= own.limitPerMinute,
  }
  const excess = Object.entries(isWithin).flatMap(([field, isField]) => (isField ? [] : [field]))
  if (excess.length === 0) return
  throw new ForbiddenError(undefined, undefined, {
    error: 'insufficient_scope',
    error_description: `An API key cannot give or change rights that it does not have itself: ${excess.join(', ')}`,
  })
}

/** Null stands for everything. */
function isSubset(part: Iterable<string> | null, whole: Iterable<string> | null): boolean {
  if (whole === null) return true
  const all = new Set(whole)
  return part !== null && [...part].every((item) => all.has(item))
}
