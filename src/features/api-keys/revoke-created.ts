import { ApiKey as ApiKeyRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'

/**
 * Revokes the keys whose secrets a member has been given, and those that these keys have created, also by keys that are
 * revoked: who manages keys no longer keeps no way in. Returns their IDs, which are to be published as revocations after the
 * commit. The caller holds the lock of the members, without which nobody creates a key.
 */
export async function revokeCreatedKeys(tx: Scope, userId: string): Promise<string[]> {
  const keys = await tx.sql<{ id: string; creatorId: string; isRevoked: boolean }>('listKeyCreators')`
    select id, created_by ->> 'id' as creator_id, revoked_at is not null as is_revoked from api_keys
    where tenant_id = ${tx.tenantId}`
  const byCreator = new Map<string, typeof keys>()
  for (const key of keys) byCreator.set(key.creatorId, [...(byCreator.get(key.creatorId) ?? []), key])
  const created: string[] = []
  const creators = new Set([userId.toLowerCase()])
  for (const creator of creators) {
    for (const { id, isRevoked } of byCreator.get(creator) ?? []) {
      creators.add(id)
      if (!isRevoked) created.push(id)
    }
  }
  if (created.length === 0) return []
  const now = tx.now()
  await tx.query(ApiKeyRow).whereIn('id', created).patch({ revokedAt: now, updatedAt: now })
  await tx.sql('deleteCreatedSecrets')`
    delete from api_key_routes where tenant_id = ${tx.tenantId} and api_key_id = any(${created})`
  return created
}
