import { Tag as TagRow } from '../../models/contacts.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import type { Scope } from '../../scope/scope.ts'
import { getTag } from './queries.ts'
import type { Tag, UpdateTag } from './schema.ts'

/** @throws ConflictError `name_taken` */
export function updateTag(scope: Scope, { tagId, ...columns }: UpdateTag): Promise<Tag> {
  return toUniqueNameError('tag', () =>
    scope.transaction(async (tx) => {
      await tx.lock(TagRow, tagId)
      await tx
        .query(TagRow)
        .findOne('id', tagId)
        .patch({ ...definedFields(columns), updatedAt: tx.now() })
      return getTag(tx, { tagId })
    }),
  )
}
