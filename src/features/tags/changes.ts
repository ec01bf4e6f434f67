import { Tag as TagRow } from '../../models/contacts.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import { definedFields } from '../../platform/fields.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { DEFAULT_COLOR } from './ensure-tags.ts'
import { getTag } from './queries.ts'
import type { CreateTag, Tag, TagRef, UpdateTag } from './schema.ts'

/** @throws ConflictError `name_taken`, `too_many_tags` */
export function createTag(scope: Scope, { name, color = DEFAULT_COLOR, description = null }: CreateTag): Promise<Tag> {
  return toUniqueNameError('tag', () =>
    scope.transaction(async (tx) => {
      await assertRowLimit(tx, 'tags')
      const tagId = newId()
      const now = tx.now()
      await tx.query(TagRow).insert({ id: tagId, name, color, description, createdAt: now, updatedAt: now })
      return getTag(tx, { tagId })
    }),
  )
}

/** @throws ConflictError `name_taken` */
export function updateTag(scope: Scope, { tagId, ...columns }: UpdateTag): Promise<Tag> {
  return toUniqueNameError('tag', () =>
    scope.transaction(async (tx) => {
      tx.audit?.compareWith(await tx.lock(TagRow, tagId))
      await tx
        .query(TagRow)
        .findOne('id', tagId)
        .patch({ ...definedFields(columns), updatedAt: tx.now() })
      return getTag(tx, { tagId })
    }),
  )
}

/** Deletes a tag and removes it from its contacts. */
export function deleteTag(scope: Scope, { tagId }: TagRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(TagRow, tagId)
    await tx.query(TagRow).delete().where('id', tagId)
    return {}
  })
}
