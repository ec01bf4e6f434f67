import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { newId } from '../../platform/ids.ts'
import { findMemberId } from '../../scope/dependencies.ts'
import type { Scope } from '../../scope/scope.ts'
import { sortForLocking } from '../automation/lock-order.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'

export const DEFAULT_COLOR = '#64748B'

/**
 * Returns the ids of tags by lower-case name. Tags that do not exist are created; those that runs add have no limit.
 * @throws ConflictError `too_many_tags` for those of a member
 */
export async function ensureTags(tx: Scope, names: string[]): Promise<Map<string, string>> {
  if (names.length === 0) return new Map()
  // The first spelling of a name counts.
  const byLower = new Map(names.toReversed().map((name) => [name.toLowerCase(), name]))
  const existing = await findTags(tx, [...byLower.keys()])
  if (existing.size === byLower.size) return existing
  const missing = [...byLower].filter(([lower]) => !existing.has(lower))
  if (findMemberId(tx.actor) !== null) await assertRowLimit(tx, 'tags', missing.length)
  const now = tx.now()
  const rows = sortForLocking(missing, ([lower]) => lower).map(([, name]) => ({
    id: newId(),
    name,
    color: DEFAULT_COLOR,
    createdAt: now,
    updatedAt: now,
  }))
  await tx.sql('ensureTags')`
    ${insertRowsSql('tags', tx.tenantId, rows)} on conflict (tenant_id, lower(name)) do nothing`
  return findTags(tx, [...byLower.keys()])
}

async function findTags(tx: Scope, lowerNames: string[]): Promise<Map<string, string>> {
  const rows = await tx.sql<{ id: string; name: string }>('findTags')`
    select id, name from tags where tenant_id = ${tx.tenantId} and lower(name) = any(${lowerNames})`
  return new Map(rows.map(({ id, name }) => [name.toLowerCase(), id]))
}
