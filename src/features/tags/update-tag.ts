import { Tag as TagRow } from '../../models/tag.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { refuseTakenName } from '../../platform/taken-name.ts'
import type { Scope } from '../../scope.ts'
import type { Tag, UpdateTag } from './schema.ts'
import { getTag } from './tag-rows.ts'

export function updateTag(scope: Scope, { id, ...columns }: UpdateTag): Promise<Tag> {
  return refuseTakenName('tag', () =>
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
