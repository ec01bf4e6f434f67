import type { Scope } from '../../scope.ts'
import type { Tag } from './schema.ts'
import { tagQuery } from './tag-query.ts'

export async function listTags(scope: Scope): Promise<{ items: Tag[] }> {
  const rows = await tagQuery(scope).orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  return { items: rows as unknown as Tag[] }
}
