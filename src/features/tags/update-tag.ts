import { Tag as TagRow } from '../../models/contacts/tag.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import type { Scope } from '../../scope.ts'
import type { Tag, UpdateTag } from './schema.ts'
import { getTag } from './tag-query.ts'

export function updateTag(scope: Scope, { id, ...columns }: UpdateTag): Promise<Tag> {
  return toUniqueNameError('tag', () =>
    scope.transaction(async (tx) => {
      await tx.lock(TagRow, id)
      await tx
        .query(TagRow)
        .findOne('id', id)
        .patch({ ...definedFields(columns), updatedAt: tx.now() })
      return getTag(tx, { id })
    }),
  )
}
