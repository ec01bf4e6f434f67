import { Tag as TagRow } from '../../models/contacts/tag.ts'
import type { Scope } from '../../scope.ts'
import type { TagRef } from './schema.ts'

/** Contacts lose the tag. */
export function deleteTag(scope: Scope, { id }: TagRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(TagRow, id)
    await tx.query(TagRow).delete().where('id', id)
    return {}
  })
}
