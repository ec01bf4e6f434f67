import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { sortForLocking } from '../automation/lock-order.ts'

export type NewIdentity = { contactId: string; kind: 'phone' | 'bsuid'; value: string }

/** Saves names by which a channel knows contacts. One that belongs to another contact of the channel stays with it. */
export async function saveIdentities(tx: Scope, channelId: string, identities: NewIdentity[]): Promise<void> {
  if (identities.length === 0) return
  const rows = identities.map(({ contactId, kind, value }) => ({
    tenant_id: tx.tenantId,
    id: newId(),
    contact_id: contactId,
    channel_id: channelId,
    kind,
    value,
    created_at: tx.now(),
  }))
  await tx
    .db('contact_identities')
    .insert(sortForLocking(rows, ({ value }) => value))
    .onConflict(['tenant_id', 'channel_id', 'kind', 'value'])
    .ignore()
}

type Identity = { id: string; kind: 'phone' | 'bsuid'; value: string; channelId: string }

/** Removes those of a contact's names on channels that `isRemoved` selects. Messages then go to the others, or its number. */
export async function removeIdentities(
  tx: Scope,
  contactId: string,
  isRemoved: (identity: Identity) => boolean,
): Promise<void> {
  const { db, tenantId } = tx
  const identities = await tx.sql<Identity>('listIdentities')`
    select id, kind, value, channel_id from contact_identities where tenant_id = ${tenantId} and contact_id = ${contactId}`
  const ids = identities.filter(isRemoved).map(({ id }) => id)
  if (ids.length === 0) return
  await db('contact_identities').where({ tenant_id: tenantId }).whereIn('id', ids).delete()
}
