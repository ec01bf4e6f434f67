import { raw } from 'objection'
import { Tag as TagRow } from '../../models/contacts/tag.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { countSql } from '../counts/read-count.ts'
import { deleteCount } from '../counts/delete-count.ts'
import type { Tag, TagRef } from './schema.ts'

/** Tag with the number of contacts that have it. */
class TagView extends TagRow {
  declare contactCount: number
}

const CONTACT_COUNT = `${countSql('tag_contacts', 'tags.id')} as contact_count`

function tagQuery(scope: Scope) {
  return scope.query(TagView).select('tags.*', raw(CONTACT_COUNT, { tenantId: scope.tenantId }))
}

/** @throws NotFoundError */
export async function getTag(scope: Scope, { tagId }: TagRef): Promise<Tag> {
  const row = isUuid(tagId) ? await tagQuery(scope).findOne('id', tagId) : undefined
  if (!row) throw new NotFoundError('Tag')
  return row
}

/** Lists all tags, newest first. */
export async function listTags(scope: Scope): Promise<{ items: Tag[] }> {
  const items = await tagQuery(scope).orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  return { items }
}

/** Deletes a tag and removes it from its contacts. */
export function deleteTag(scope: Scope, { tagId }: TagRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(TagRow, tagId)
    await tx.query(TagRow).delete().where('id', tagId)
    await deleteCount(tx, { counter: 'tag_contacts', ownerId: tagId })
    return {}
  })
}
