import { toSender } from '../../scope/dependencies.ts'
import type { Scope } from '../../scope/scope.ts'
import type { CreatedBy } from '../../trpc/schemas.ts'

/** The columns with the creator of a row. Versions that store no type work beside this one. */
type CreatorColumns = { createdBy: string | null; createdByType: string | null }

/** The members and API keys that have created rows, by their IDs. */
type Creators = ReadonlyMap<string, { type: string; name: string }>

export type WithCreator<T extends CreatorColumns> = Omit<T, keyof CreatorColumns> & { createdBy: CreatedBy }

/** Returns the columns with the actor as the creator of a row. */
export function toCreatorColumns({ actor }: Scope): CreatorColumns {
  const { id, type } = toSender(actor)
  return { createdBy: id, createdByType: type }
}

/** Finds who created rows. Names are read from accounts and keys, so that those of a deleted account are nowhere. */
export async function findCreators(scope: Scope, rows: readonly CreatorColumns[]): Promise<Creators> {
  const ids = [...new Set(rows.flatMap(({ createdBy }) => createdBy ?? []))]
  if (ids.length === 0) return new Map()
  const found = await scope.sql<{ type: string; id: string; name: string }>('findCreators')`
    select 'key' as type, k.id, k.name from api_keys k where k.tenant_id = ${scope.tenantId} and k.id = any(${ids}::uuid[])
    union all select 'user', u.id, u.name from users u where u.id = any(${ids}::uuid[])`
  return new Map(found.map(({ id, ...creator }) => [id, creator]))
}

export function withCreator<T extends CreatorColumns>(
  { createdBy: id, createdByType, ...row }: T,
  creators: Creators,
): WithCreator<T> {
  if (id === null) return { ...row, createdBy: { type: 'system', id, name: null } }
  const { type = 'user', name = null } = creators.get(id) ?? {}
  return { ...row, createdBy: { type: createdByType ?? type, id, name } }
}
