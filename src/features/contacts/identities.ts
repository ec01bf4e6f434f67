import { newId } from '../../platform/ids.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import type { Scope } from '../../scope/scope.ts'
import { sortForLocking } from '../automation/lock-order.ts'

export type NewIdentity = { contactId: string; kind: 'phone' | 'bsuid'; value: string }

/** Saves names by which a channel knows contacts. One that belongs to another contact of the channel stays with it. */
export async function saveIdentities(tx: Scope, channelId: string, identities: NewIdentity[]): Promise<void> {
  if (identities.length === 0) return
  const createdAt = tx.now()
  const rows = identities.map(({ contactId, kind, value }) => ({
    id: newId(),
    contactId,
    channelId,
    kind,
    value,
    createdAt,
  }))
  const sorted = sortForLocking(rows, ({ value }) => value)
  await tx.sql('saveIdentities')`
    ${insertRowsSql('contact_identities', tx.tenantId, sorted)} on conflict (tenant_id, channel_id, kind, value) do nothing`
}

type Identity = { id: string; kind: 'phone' | 'bsuid'; value: string; channelId: string }

/** Removes those of a contact's names on channels that `isRemoved` selects. Messages then go to the others, or its number. */
export async function removeIdentities(
  tx: Scope,
  contactId: string,
  isRemoved: (identity: Identity) => boolean,
): Promise<void> {
  const { tenantId } = tx
  const identities = await tx.sql<Identity>('listIdentities')`
    select id, kind, value, channel_id from contact_identities where tenant_id = ${tenantId} and contact_id = ${contactId}`
  const ids = identities.filter(isRemoved).map(({ id }) => id)
  if (ids.length === 0) return
  await tx.sql('removeIdentities')`delete from contact_identities where tenant_id = ${tenantId} and id = any(${ids})`
}
