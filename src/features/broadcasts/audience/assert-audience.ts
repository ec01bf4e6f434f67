import { Contact } from '../../../models/contacts/contact.ts'
import { Group } from '../../../models/contacts/group.ts'
import { Tag } from '../../../models/contacts/tag.ts'
import { NotFoundError } from '../../../platform/errors.ts'
import { isUuid } from '../../../platform/ids.ts'
import type { Scope } from '../../../scope.ts'
import type { AudienceInput } from './schema.ts'

/**
 * Asserts that all groups, tags and contacts of an audience exist in this workspace.
 * @throws NotFoundError
 */
export async function assertAudience(tx: Scope, { exclude = {}, ...audience }: AudienceInput): Promise<void> {
  const listIds = (name: 'groupIds' | 'tagIds' | 'contactIds') => [...(audience[name] ?? []), ...(exclude[name] ?? [])]
  const [groupIds, tagIds, contactIds] = [listIds('groupIds'), listIds('tagIds'), listIds('contactIds')]
  await assertExisting('Group', groupIds, (ids) => tx.query(Group).whereIn('id', ids).resultSize())
  await assertExisting('Tag', tagIds, (ids) => tx.query(Tag).whereIn('id', ids).resultSize())
  await assertExisting('Contact', contactIds, (ids) => tx.query(Contact).whereIn('id', ids).resultSize())
}

async function assertExisting(noun: string, ids: string[], count: (ids: string[]) => Promise<number>): Promise<void> {
  const distinct = [...new Set(ids.map((id) => id.toLowerCase()))]
  if (distinct.length === 0) return
  if (!distinct.every(isUuid) || (await count(distinct)) !== distinct.length) throw new NotFoundError(noun)
}
