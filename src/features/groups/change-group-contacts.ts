import { Contact as ContactRow, Group as GroupRow } from '../../models/contacts.ts'
import { toRecordset } from '../../platform/database/sql.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Event } from '../../scope/event-types.ts'
import type { Scope } from '../../scope/scope.ts'
import { emitEvents } from '../automation/emit-events.ts'
import { getGroup } from './queries.ts'
import type { AddGroupContacts, Group, RemoveGroupContact } from './schema.ts'

/** `depth` counts the runs between the change and the action of a person or external system that caused it. */
export type GroupChange = { groupId: string; contactId: string; isAdded: boolean; depth?: number }

/**
 * Adds contacts to groups and removes them, any number in two statements. The last of several changes of one contact in
 * one group counts; a group that no longer exists is skipped. Returns the changes that had an effect.
 */
export async function changeGroupContacts(tx: Scope, changes: GroupChange[]): Promise<GroupChange[]> {
  const last = [...new Map(changes.map((change) => [`${change.groupId} ${change.contactId}`, change])).values()]
  const added = await insertContacts(
    tx,
    last.filter(({ isAdded }) => isAdded),
  )
  const removed = await deleteContacts(
    tx,
    last.filter(({ isAdded }) => !isAdded),
  )
  const depths = new Map(last.map(({ groupId, contactId, depth = 0 }) => [`${groupId} ${contactId}`, depth]))
  const changed = [...added, ...removed].map((change) => ({
    ...change,
    depth: depths.get(`${change.groupId} ${change.contactId}`) ?? 0,
  }))
  await tx.record(...changed.map(toEvent))
  await emitEvents(tx, changed.map(toEmittedEvent))
  return changed
}

/**
 * Adds contacts to a group: all of them or, if one does not exist, none. Adding a contact twice leaves one.
 * @throws NotFoundError
 */
export function addGroupContacts(scope: Scope, { groupId, contactIds }: AddGroupContacts): Promise<Group> {
  const distinct = [...new Set(contactIds.map((contactId) => contactId.toLowerCase()))]
  return scope.transaction(async (tx) => {
    await tx.lock(GroupRow, groupId)
    if (!distinct.every(isUuid)) throw new NotFoundError('Contact')
    // Locked, so that none is deleted before it is added.
    const existing = await tx.query(ContactRow).select('id').whereIn('id', distinct).orderBy('id').forKeyShare()
    if (existing.length !== distinct.length) throw new NotFoundError('Contact')
    tx.audit?.addTargets('contact', distinct)
    await changeGroupContacts(
      tx,
      distinct.map((contactId) => ({ groupId, contactId, isAdded: true })),
    )
    return getGroup(tx, { groupId })
  })
}

/** @throws NotFoundError when the contact is not in the group */
export function removeGroupContact(
  scope: Scope,
  { groupId, contactId }: RemoveGroupContact,
): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(GroupRow, groupId)
    const changed = isUuid(contactId) ? await changeGroupContacts(tx, [{ groupId, contactId, isAdded: false }]) : []
    if (changed.length === 0) throw new NotFoundError('Contact')
    return {}
  })
}

function toEvent({ groupId, contactId, isAdded }: GroupChange): Event {
  return { type: isAdded ? 'group.member_added' : 'group.member_removed', data: { groupId, contactId } }
}

function toEmittedEvent({ groupId, contactId, isAdded, depth = 0 }: GroupChange) {
  const type = isAdded ? ('group_joined' as const) : ('group_left' as const)
  return { contactId, depth, event: { type, groupId } }
}

async function insertContacts(tx: Scope, changes: GroupChange[]): Promise<GroupChange[]> {
  if (changes.length === 0) return []
  return tx.sql<GroupChange>('insertContacts')`
    with input as (select * from jsonb_to_recordset(${toRecordset(changes)}::jsonb) as x (group_id uuid, contact_id uuid)),
     existing as (
       select g.id from groups g where g.tenant_id = ${tx.tenantId} and g.id in (select group_id from input)
       order by g.id for key share)
     insert into group_contacts (tenant_id, group_id, contact_id, created_at)
     select ${tx.tenantId}::uuid, x.group_id, x.contact_id, ${tx.now()}::timestamptz
     from input x join existing on existing.id = x.group_id
     order by x.group_id, x.contact_id
     on conflict do nothing
     returning group_id, contact_id, true as is_added`
}

async function deleteContacts(tx: Scope, changes: GroupChange[]): Promise<GroupChange[]> {
  if (changes.length === 0) return []
  return tx.sql<GroupChange>('deleteContacts')`
    delete from group_contacts gc using jsonb_to_recordset(${toRecordset(changes)}::jsonb) as x (group_id uuid, contact_id uuid)
     where gc.tenant_id = ${tx.tenantId} and gc.group_id = x.group_id and gc.contact_id = x.contact_id
     returning gc.group_id, gc.contact_id, false as is_added`
}
