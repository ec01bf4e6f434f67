import { Tag as TagRow } from '../../models/contacts.ts'
import type { Scope } from '../../scope/scope.ts'
import type { TagRef } from './schema.ts'

/** Deletes a tag and removes it from its contacts. */
export function deleteTag(scope: Scope, { tagId }: TagRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(TagRow, tagId)
    await tx.query(TagRow).delete().where('id', tagId)
    return {}
  })
}
