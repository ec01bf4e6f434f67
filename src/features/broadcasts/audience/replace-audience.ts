import { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import type { Scope } from '../../../scope/scope.ts'
import { assertAudience } from './assert-audience.ts'
import type { Audience, AudienceInput } from './schema.ts'

/**
 * Replaces the audience of a locked broadcast. Phone numbers are stored in a table of their own, because there may be
 * thousands of them.
 * @throws NotFoundError
 */
export async function replaceAudience(tx: Scope, broadcastId: string, input: AudienceInput): Promise<void> {
  await assertAudience(tx, input)
  const { recipients = [], ...lists } = input
  const audience: Audience = { ...lists, recipientCount: recipients.length }
  await tx.query(BroadcastRow).findOne('id', broadcastId).patch({ audience })
  await deletePhones(tx, broadcastId)
  if (recipients.length === 0) return
  const rows = JSON.stringify(recipients.map((recipient, position) => ({ ...recipient, position })))
  await tx.sql('insertPhones')`
    insert into broadcast_phones (tenant_id, broadcast_id, position, phone, name, params)
     select ${tx.tenantId}::uuid, ${broadcastId}::uuid, x.position, x.phone, x.name, coalesce(x.params, '{}')
     from jsonb_to_recordset(${rows}::jsonb) as x (position integer, phone text, name text, params jsonb)`
}

/** Deletes the phone numbers of an audience, of which no list of recipients is made any more. */
export async function deletePhones(tx: Scope, broadcastId: string): Promise<void> {
  await tx.sql('deletePhones')`
    delete from broadcast_phones where tenant_id = ${tx.tenantId} and broadcast_id = ${broadcastId}`
}
