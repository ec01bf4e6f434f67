import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { Tag, TagRef } from './schema.ts'
import { presentTag, tagRows } from './tag-rows.ts'

export async function getTag(scope: Scope, { id }: TagRef): Promise<Tag> {
  const row = isUuid(id) ? await tagRows(scope).findOne('tags.id', id) : undefined
  if (!row) throw new NotFoundError('Tag')
  return presentTag(row)
}
