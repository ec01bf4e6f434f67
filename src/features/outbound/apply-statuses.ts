import type { StatusUpdate } from '../../channels/channel.ts'
import { isUuid, newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { promoteStatuses } from './promote-statuses.ts'

/**
 * Keeps what a provider tells of our messages, and raises them by it. It may come twice, out of order, or before we
 * know the provider's id: then our own id, if it gives that back, finds the message, and else it waits for it.
 */
export async function applyStatuses(
  scope: Scope,
  { channelId, statuses }: { channelId: string; statuses: StatusUpdate[] },
): Promise<void> {
  if (statuses.length === 0) return
  const rows = statuses.map(({ providerMessageId, status, at, error, messageId }) => ({
    id: newId(),
    ref: providerMessageId,
    status,
    at,
    error,
    own_id: messageId !== null && isUuid(messageId) ? messageId : null,
  }))
  // In one order everywhere, so that two deliveries of the same statuses do not deadlock.
  rows.sort((a, b) => (`${a.ref} ${a.status}` < `${b.ref} ${b.status}` ? -1 : 1))
  const { tenantId } = scope
  await scope.transaction(async (tx) => {
    const given = { rows: JSON.stringify(rows), tenantId, channelId, now: tx.now() }
    const { rows: told } = await tx.db.raw<{ rows: { message_id: string | null }[] }>(
      `insert into message_statuses (tenant_id, id, channel_id, provider_message_id, message_id, status, error, provider_at, created_at)
       select :tenantId::uuid, x.id, :channelId::uuid, x.ref, coalesce(r.message_id, m.id), x.status, x.error, x.at, :now::timestamptz
       from jsonb_to_recordset(:rows::jsonb) as x (id uuid, ref text, status text, at timestamptz, error jsonb, own_id uuid)
       left join provider_message_ids r on r.tenant_id = :tenantId and r.channel_id = :channelId and r.provider_message_id = x.ref
       left join messages m on m.tenant_id = :tenantId and m.channel_id = :channelId and m.id = x.own_id and m.direction = 'outbound'
       on conflict (tenant_id, channel_id, provider_message_id, status) do nothing
       returning message_id`,
      given,
    )
    const messageIds = [...new Set(told.flatMap(({ message_id }) => message_id ?? []))]
    if (messageIds.length === 0) return
    // A message whose answer was lost is found by our own id: from now on it has the provider's, and is not in doubt.
    await tx.db.raw(
      `with found as (
         select distinct on (x.own_id) x.own_id as id, x.ref from jsonb_to_recordset(:rows::jsonb) as x (ref text, own_id uuid)
         join messages m on m.tenant_id = :tenantId and m.channel_id = :channelId and m.id = x.own_id
           and m.direction = 'outbound' and m.provider_message_id is null),
       refs as (
         insert into provider_message_ids (tenant_id, channel_id, provider_message_id, message_id, created_at)
         select :tenantId::uuid, :channelId::uuid, ref, id, :now::timestamptz from found on conflict do nothing),
       done as (
         delete from outbox o using found where o.tenant_id = :tenantId and o.channel_id = :channelId
           and o.message_id = found.id and o.leased_at is not null)
       update messages m set provider_message_id = found.ref from found where m.tenant_id = :tenantId and m.id = found.id`,
      given,
    )
    await promoteStatuses(tx, messageIds)
  })
}
