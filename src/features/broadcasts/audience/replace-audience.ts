import { isDeepStrictEqual } from 'node:util'
import { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import { Contact, Group, Tag } from '../../../models/contacts.ts'
import { NotFoundError } from '../../../platform/errors.ts'
import { isUuid } from '../../../platform/ids.ts'
import type { Scope } from '../../../scope/scope.ts'
import type { Audience, AudienceInput } from './schema.ts'

const COUNTERS = {
  Group: (tx: Scope, ids: string[]) => tx.query(Group).whereIn('id', ids).resultSize(),
  Tag: (tx: Scope, ids: string[]) => tx.query(Tag).whereIn('id', ids).resultSize(),
  Contact: (tx: Scope, ids: string[]) => tx.query(Contact).whereIn('id', ids).resultSize(),
}

/**
 * Replaces the audience of a locked broadcast. Phone numbers are stored in a table of their own, because there may be
 * thousands of them. Returns the audience, and whether it has other phone numbers now.
 * @throws NotFoundError
 */
export async function replaceAudience(
  tx: Scope,
  broadcastId: string,
  input: AudienceInput,
): Promise<{ audience: Audience; hasOtherPhones: boolean }> {
  await assertAudience(tx, input)
  const { recipients = [], ...lists } = input
  const audience: Audience = { ...lists, recipientCount: recipients.length }
  await tx.query(BroadcastRow).findOne('id', broadcastId).patch({ audience })
  const former = await deletePhones(tx, broadcastId)
  const stored = recipients.map(({ phone, name = null, params = {} }) => ({ phone, name, params }))
  const hasOtherPhones = !isDeepStrictEqual(former, stored)
  if (recipients.length === 0) return { audience, hasOtherPhones }
  const rows = JSON.stringify(recipients.map((recipient, position) => ({ ...recipient, position })))
  await tx.sql('insertPhones')`
    insert into broadcast_phones (tenant_id, broadcast_id, position, phone, name, params)
     select ${tx.tenantId}::uuid, ${broadcastId}::uuid, x.position, x.phone, x.name, coalesce(x.params, '{}')
     from jsonb_to_recordset(${rows}::jsonb) as x (position integer, phone text, name text, params jsonb)`
  return { audience, hasOtherPhones }
}

type Phone = { phone: string; name: string | null; params: Record<string, string> }

/**
 * Deletes the phone numbers of an audience, of which no list of recipients is made any more. Returns them in their order.
 */
export async function deletePhones(tx: Scope, broadcastId: string): Promise<Phone[]> {
  const rows = await tx.sql<Phone & { position: number }>('deletePhones')`
    delete from broadcast_phones where tenant_id = ${tx.tenantId} and broadcast_id = ${broadcastId}
    returning position, phone, name, params`
  return rows.toSorted((a, b) => a.position - b.position).map(({ phone, name, params }) => ({ phone, name, params }))
}

/** @throws NotFoundError if one of the ids is not that of a record of the workspace */
export async function assertExisting(tx: Scope, noun: keyof typeof COUNTERS, ids: string[]): Promise<void> {
  const distinct = [...new Set(ids.map((id) => id.toLowerCase()))]
  if (distinct.length === 0) return
  const count = distinct.every(isUuid) ? await COUNTERS[noun](tx, distinct) : 0
  if (count !== distinct.length) throw new NotFoundError(noun)
}

/**
 * Asserts that all groups, tags and contacts of an audience exist in this workspace.
 * @throws NotFoundError
 */
async function assertAudience(tx: Scope, { exclude = {}, ...audience }: AudienceInput): Promise<void> {
  const listIds = (name: 'groupIds' | 'tagIds' | 'contactIds') => [...(audience[name] ?? []), ...(exclude[name] ?? [])]
  const [groupIds, tagIds, contactIds] = [listIds('groupIds'), listIds('tagIds'), listIds('contactIds')]
  await assertExisting(tx, 'Group', groupIds)
  await assertExisting(tx, 'Tag', tagIds)
  await assertExisting(tx, 'Contact', contactIds)
}
