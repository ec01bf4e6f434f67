import { ApiKey as ApiKeyRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'

/**
 * Revokes the keys of which a member has been given a secret, directly or through another key: who manages keys no longer
 * keeps no way in. Returns their IDs, which are to be published as revocations after the commit. The caller holds the lock of
 * the members, without which nobody creates or rotates a key.
 */
export async function revokeKnownKeys(tx: Scope, userId: string): Promise<string[]> {
  const now = tx.now()
  const known = await tx
    .query(ApiKeyRow)
    .whereNull('revokedAt')
    .whereRaw('?::uuid = any(known_to)', [userId])
    .orderBy('id')
    .forUpdate()
  const ids = known.map(({ id }) => id)
  if (ids.length === 0) return []
  await tx.query(ApiKeyRow).whereIn('id', ids).patch({ revokedAt: now, updatedAt: now })
  await tx.sql('deleteKnownSecrets')`
    delete from api_key_routes where tenant_id = ${tx.tenantId} and api_key_id = any(${ids})`
  return ids
}
