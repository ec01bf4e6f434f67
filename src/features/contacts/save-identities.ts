import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
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
