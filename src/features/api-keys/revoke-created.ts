import { ApiKey as ApiKeyRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'

/**
 * Revokes the keys that a member has created, and those that these keys have created: who manages keys no longer keeps no
 * way in. Returns their IDs, which are to be published as revocations after the commit.
 */
export async function revokeCreatedKeys(tx: Scope, userId: string): Promise<string[]> {
  // A workspace has a limited number of keys that are not revoked.
  const keys = await tx.query(ApiKeyRow).whereNull('revokedAt').orderBy('id').forUpdate()
  const creators = new Set<string | null>([userId.toLowerCase()])
  const created: string[] = []
  // A key is created after its creator, so that creators come first.
  for (const { id, createdBy } of keys.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime())) {
    if (!creators.has(createdBy.id)) continue
    creators.add(id)
    created.push(id)
  }
  if (created.length === 0) return []
  const now = tx.now()
  await tx.query(ApiKeyRow).whereIn('id', created).patch({ revokedAt: now, updatedAt: now })
  await tx.sql('deleteCreatedSecrets')`
    delete from api_key_routes where tenant_id = ${tx.tenantId} and api_key_id = any(${created})`
  return created
}
