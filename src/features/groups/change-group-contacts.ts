import type { Event, Scope } from '../../scope.ts'
import { raiseEvents } from '../automation/raise-events.ts'

/** `depth`: how many runs stand between the change and what a person or the outside did. */
export type GroupChange = { groupId: string; contactId: string; isAdded: boolean; depth?: number }

/**
 * Adds contacts to groups and takes them out, any number in two statements. Of several changes of one contact in one
 * group the last one counts; a group that is gone is passed over. Gives those that changed anything.
 */
export async function changeGroupContacts(tx: Scope, changes: GroupChange[]): Promise<GroupChange[]> {
  const last = [...new Map(changes.map((change) => [`${change.groupId} ${change.contactId}`, change])).values()]
  const added = await addAll(
    tx,
    last.filter(({ isAdded }) => isAdded),
  )
  const removed = await removeAll(
    tx,
    last.filter(({ isAdded }) => !isAdded),
  )
  const depths = new Map(last.map(({ groupId, contactId, depth = 0 }) => [`${groupId} ${contactId}`, depth]))
  const changed = [...added, ...removed].map((change) => ({
    ...change,
    depth: depths.get(`${change.groupId} ${change.contactId}`) ?? 0,
  }))
  await tx.record(...changed.map(eventOf))
  await raiseEvents(tx, changed.map(raisedBy))
  return changed
}

function eventOf({ groupId, contactId, isAdded }: GroupChange): Event {
  return { type: isAdded ? 'group.member_added' : 'group.member_removed', data: { groupId, contactId } }
}

function raisedBy({ groupId, contactId, isAdded, depth = 0 }: GroupChange) {
  const type = isAdded ? ('group_joined' as const) : ('group_left' as const)
  return { contactId, depth, event: { type, groupId } }
}

async function addAll(tx: Scope, changes: GroupChange[]): Promise<GroupChange[]> {
  if (changes.length === 0) return []
  const { rows } = await tx.db.raw<{ rows: GroupChange[] }>(
    `with present as (
       select g.id from groups g where g.tenant_id = :tenantId
         and g.id in (select "groupId" from jsonb_to_recordset(:given::jsonb) as y ("groupId" uuid))
       order by g.id for key share)
     insert into group_contacts (tenant_id, group_id, contact_id, created_at)
     select :tenantId::uuid, x."groupId", x."contactId", :now::timestamptz
     from jsonb_to_recordset(:given::jsonb) as x ("groupId" uuid, "contactId" uuid) join present on present.id = x."groupId"
     order by x."groupId", x."contactId"
     on conflict do nothing
     returning group_id as "groupId", contact_id as "contactId", true as "isAdded"`,
    { given: JSON.stringify(changes), tenantId: tx.tenantId, now: tx.now() },
  )
  return rows
}

async function removeAll(tx: Scope, changes: GroupChange[]): Promise<GroupChange[]> {
  if (changes.length === 0) return []
  const { rows } = await tx.db.raw<{ rows: GroupChange[] }>(
    `delete from group_contacts gc using jsonb_to_recordset(?::jsonb) as x ("groupId" uuid, "contactId" uuid)
     where gc.tenant_id = ? and gc.group_id = x."groupId" and gc.contact_id = x."contactId"
     returning gc.group_id as "groupId", gc.contact_id as "contactId", false as "isAdded"`,
    [JSON.stringify(changes), tx.tenantId],
  )
  return rows
}
