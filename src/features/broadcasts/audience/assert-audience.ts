import { Contact, Group, Tag } from '../../../models/contacts.ts'
import { NotFoundError } from '../../../platform/errors.ts'
import { isUuid } from '../../../platform/ids.ts'
import type { Scope } from '../../../scope/scope.ts'
import type { AudienceInput } from './schema.ts'

/**
 * Asserts that all groups, tags and contacts of an audience exist in this workspace.
 * @throws NotFoundError
 */
export async function assertAudience(tx: Scope, { exclude = {}, ...audience }: AudienceInput): Promise<void> {
  const listIds = (name: 'groupIds' | 'tagIds' | 'contactIds') => [...(audience[name] ?? []), ...(exclude[name] ?? [])]
  const [groupIds, tagIds, contactIds] = [listIds('groupIds'), listIds('tagIds'), listIds('contactIds')]
  await assertExisting(tx, 'Group', groupIds)
  await assertExisting(tx, 'Tag', tagIds)
  await assertExisting(tx, 'Contact', contactIds)
}

const COUNTERS = {
  Group: (tx: Scope, ids: string[]) => tx.query(Group).whereIn('id', ids).resultSize(),
  Tag: (tx: Scope, ids: string[]) => tx.query(Tag).whereIn('id', ids).resultSize(),
  Contact: (tx: Scope, ids: string[]) => tx.query(Contact).whereIn('id', ids).resultSize(),
}

/** @throws NotFoundError if one of the ids is not that of a record of the workspace */
export async function assertExisting(tx: Scope, noun: keyof typeof COUNTERS, ids: string[]): Promise<void> {
  const distinct = [...new Set(ids.map((id) => id.toLowerCase()))]
  if (distinct.length === 0) return
  const count = distinct.every(isUuid) ? await COUNTERS[noun](tx, distinct) : 0
  if (count !== distinct.length) throw new NotFoundError(noun)
}
