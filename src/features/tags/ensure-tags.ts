import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'

export const DEFAULT_COLOR = '#64748B'

/** The ids of tags by their names in lower case; a name that is no tag yet becomes one. */
export async function ensureTags(tx: Scope, names: string[]): Promise<Map<string, string>> {
  if (names.length === 0) return new Map()
  // The first spelling of a name stays.
  const byLower = new Map(names.toReversed().map((name) => [name.toLowerCase(), name]))
  const known = await findTags(tx, [...byLower.keys()])
  if (known.size === byLower.size) return known
  const now = tx.now()
  // Sorted, so that two transactions that create the same tags take their locks in the same order.
  const rows = [...byLower.entries()]
    .filter(([lower]) => !known.has(lower))
    .sort()
    .map(([, name]) => ({
      tenant_id: tx.tenantId,
      id: newId(),
      name,
      color: DEFAULT_COLOR,
      created_at: now,
      updated_at: now,
    }))
  await tx.db('tags').insert(rows).onConflict(tx.db.raw('(tenant_id, lower(name))')).ignore()
  return findTags(tx, [...byLower.keys()])
}

async function findTags(tx: Scope, lowerNames: string[]): Promise<Map<string, string>> {
  const found = await tx
    .db('tags')
    .where('tenant_id', tx.tenantId)
    .whereRaw('lower(name) = any(?)', [lowerNames])
    .select<{ id: string; name: string }[]>('id', 'name')
  return new Map(found.map(({ id, name }) => [name.toLowerCase(), id]))
}
