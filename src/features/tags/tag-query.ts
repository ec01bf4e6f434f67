import { raw } from 'objection'
import { Tag as TagRow } from '../../models/contacts/tag.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { Tag, TagRef } from './schema.ts'

const CONTACT_COUNT = raw(`(
  select count(*)::int from contact_tags ct where ct.tenant_id = tags.tenant_id and ct.tag_id = tags.id) as contact_count`)

export function tagQuery(scope: Scope) {
  return scope.query(TagRow).select('tags.*', CONTACT_COUNT)
}

export async function getTag(scope: Scope, { id }: TagRef): Promise<Tag> {
  const row = isUuid(id) ? await tagQuery(scope).findOne('id', id) : undefined
  if (!row) throw new NotFoundError('Tag')
  return row as TagRow & Tag
}
