import { Contact as ContactRow } from '../../models/contacts.ts'
import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import { SECOND } from '../../platform/time.ts'
import { isOpenSql } from '../../scope/deleted-workspaces.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { addRows, deleteConversations, type DeletedRows, deletePortion } from '../automation/delete-contact-rows.ts'
import { lockConversationsBy } from '../automation/lock-order.ts'
import { eraseRecipients } from '../broadcast-recipients/erase-recipients.ts'
import type { ContactRef } from './schema.ts'

/** No portion is started after this time; the next run goes on. A half of the time is left to other work. */
const RUN_MAX_MS = SECOND
/** Contacts of a run. The others have their turn in a later one. */
const CONTACTS_MAX = 1_000

/**
 * Deletes a contact with its conversations, and a portion of its messages and runs. What is left of these is gone for
 * everybody, and a periodic task deletes it. Recipients of broadcasts stay without its data.
 */
export async function deleteContact(scope: Scope, { contactId }: ContactRef): Promise<Record<string, never>> {
  const { rows, isDone } = await scope.transaction(async (tx) => {
    await lockConversationsBy(tx, { column: 'contact_id', id: contactId })
    const { id } = await tx.lock(ContactRow, contactId)
    await eraseRecipients(tx, id)
    const closed = await deleteConversations(tx, id)
    const { deleted, isDone } = await deletePortion(tx, id)
    const rows = addRows(closed, deleted)
    await tx.query(ContactRow).delete().where('id', id)
    if (!isDone) {
      await tx.sql('insertContactPurge')`
        insert into contact_purges (tenant_id, contact_id, counts, deleted_at)
        values (${tx.tenantId}, ${id}, ${JSON.stringify(rows)}::jsonb, ${tx.now()})
        on conflict (tenant_id, contact_id) do update set counts = excluded.counts, deleted_at = excluded.deleted_at`
    }
    await tx.record({ type: 'contact.deleted', data: { contactId: id } })
    return { rows, isDone }
  })
  if (isDone) logPurged(scope, contactId, rows)
  return {}
}

function logPurged(scope: Scope, contactId: string, rows: DeletedRows): void {
  scope.log.info({ event: 'contact_purged', contactId, rows: addRows({}, rows) }, 'all rows of a contact were deleted')
}

type Purge = { tenantId: string; contactId: string }

export function contactPurgesSql(): SqlFragment {
  return sqlFragment`select tenant_id, contact_id from contact_purges`
}

/**
 * Deletes what is left of deleted contacts, portion by portion and the contacts in turn. A portion is a transaction that also
 * counts it, so that a process may end anywhere and any other one goes on. Of concurrent runs one works on a contact at a
 * time.
 */
export async function purgeDeletedContacts(system: SystemScope): Promise<void> {
  let purges = await system.acrossTenants<Purge>('listContactPurges')`
    select t.* from (${contactPurgesSql()}) t where ${system.deletedWorkspaces.exceptSql('t')}
    order by random() limit ${CONTACTS_MAX}`
  const endsAtMs = performance.now() + RUN_MAX_MS
  const hasTime = () => performance.now() < endsAtMs
  while (purges.length > 0 && hasTime()) {
    const unfinished: Purge[] = []
    for (const purge of purges) {
      await forEachTenant([purge], { log: system.log, task: 'purge deleted contacts' }, async (tenantId) => {
        if (hasTime() && (await purgePortion(system.forTenant(tenantId), purge.contactId))) unfinished.push(purge)
      })
    }
    purges = unfinished
  }
}

/** Returns true if there is more to do at once. */
async function purgePortion(scope: Scope, contactId: string): Promise<boolean> {
  const { tenantId } = scope
  const purged = await scope.transaction(async (tx) => {
    const [purge] = await tx.sql<{ counts: DeletedRows }>('lockContactPurge')`
      select g.counts from contact_purges g
      where g.tenant_id = ${tenantId} and g.contact_id = ${contactId} and ${isOpenSql(tenantId)} for update skip locked`
    if (!purge) return null
    const { deleted, isDone } = await deletePortion(tx, contactId)
    const rows = addRows(purge.counts, deleted)
    if (isDone)
      await tx.sql('deleteContactPurge')`
        delete from contact_purges where tenant_id = ${tenantId} and contact_id = ${contactId}`
    else
      await tx.sql('saveContactPurge')`
        update contact_purges set counts = ${JSON.stringify(rows)}::jsonb
        where tenant_id = ${tenantId} and contact_id = ${contactId}`
    return { rows, isDone }
  })
  if (purged?.isDone) logPurged(scope, contactId, purged.rows)
  return purged?.isDone === false
}
