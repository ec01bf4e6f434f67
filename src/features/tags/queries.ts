import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { countSql } from '../counts/count-sql.ts'
import { type ItemSource, readItem, readItems } from '../paging/read-items.ts'
import type { Tag, TagRef } from './schema.ts'

const TAG_SOURCE: ItemSource = {
  table: sqlFragment`tags`,
  columns: (tenantId) =>
    sqlFragment`tags.*, ${countSql(tenantId, 'tag_contacts', sqlFragment`tags.id`)} as contact_count`,
}

/** @throws NotFoundError */
export async function getTag(scope: Scope, { tagId }: TagRef): Promise<Tag> {
  const row = await readItem<Tag>(scope, 'getTag', TAG_SOURCE, tagId)
  if (!row) throw new NotFoundError('Tag')
  return row
}

/** Lists all tags, newest first. */
export async function listTags(scope: Scope): Promise<{ items: Tag[] }> {
  return {
    items: await readItems<Tag>(scope, 'listTags', TAG_SOURCE, sqlFragment`true order by created_at desc, id desc`),
  }
}
