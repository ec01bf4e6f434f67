import type { StatusUpdate } from '../../../channels/channel.ts'
import { toRecordset } from '../../../platform/database/sql.ts'
import { isUuid, newId } from '../../../platform/ids.ts'
import { isOfNoDeletedContactSql } from '../../../scope/deleted-contacts.ts'
import type { Scope } from '../../../scope/scope.ts'
import { lockMessages, sortForLocking } from '../../automation/lock-order.ts'
import { applyProviderOptOuts, type FailedMessage, isProviderOptOut } from '../../consent/provider-choices.ts'
import { keepWebhooks, type RawWebhook } from '../../provider-webhooks/keep-webhooks.ts'
import { insertProviderIds, promoteStatuses } from './promote-statuses.ts'
import { attachEarlyStatuses } from './attach-early-statuses.ts'

type NewStatuses = {
  channelId: string
  statuses: StatusUpdate[]
  /** Webhook calls in which the statuses arrived, which are kept. */
  webhooks?: RawWebhook[]
  lockTimeoutMs?: number
}

/**
 * Stores the delivery statuses that a provider reports and promotes the messages. A report may arrive twice, out of order,
 * or before the provider's id of the message is known. In that case our own id identifies the message if the provider
 * returns it; otherwise the report waits until the provider's id is stored, and `attachEarlyStatuses` applies it.
 */
export async function applyStatuses(
  scope: Scope,
  { channelId, statuses, webhooks = [], ...options }: NewStatuses,
): Promise<void> {
  if (statuses.length === 0) return
  const rows = statuses.map(({ providerMessageId, status, at, error, messageId }) => ({
    id: newId(),
    providerMessageId,
    status,
    at,
    error,
    ownId: toOwnId(messageId),
  }))
  const { tenantId } = scope
  const early = await scope.transaction(
    async (tx) => {
      await applyProviderOptOuts(tx, channelId, await findOptOuts(tx, channelId, statuses))
      const sorted = sortForLocking(rows, (row) => `${row.providerMessageId} ${row.status}`)
      const inserting = tx.sql<{ messageId: string | null; providerMessageId: string }>('insertStatuses')`
       insert into message_statuses (tenant_id, id, channel_id, provider_message_id, message_id, status, error, provider_at, created_at)
       select ${tenantId}::uuid, x.id, ${channelId}::uuid, x.provider_message_id, coalesce(r.message_id, m.id), x.status, x.error, x.at, ${tx.now()}::timestamptz
       from jsonb_to_recordset(${toRecordset(sorted)}::jsonb) as x (id uuid, provider_message_id text, status text, at timestamptz, error jsonb, own_id uuid)
       left join provider_message_ids r on r.tenant_id = ${tenantId} and r.channel_id = ${channelId} and r.provider_message_id = x.provider_message_id
       left join messages m on m.tenant_id = ${tenantId} and m.channel_id = ${channelId} and m.id = x.own_id and m.direction = 'outbound'
       on conflict (tenant_id, channel_id, provider_message_id, status) do nothing
       returning message_id, provider_message_id`
      const [stored] = await Promise.all([inserting, keepWebhooks(tx, channelId, webhooks)])
      const unknown = stored.flatMap(({ messageId, providerMessageId }) =>
        messageId === null ? [providerMessageId] : [],
      )
      const found = new Set(stored.flatMap(({ messageId }) => messageId ?? []))
      if (found.size === 0) return unknown
      const messageIds = [...found]
      // Locked before the reports are read. Our own id identifies a message whose send got no response or an error: the
      // provider's id is stored for it, because later reports may lack our own.
      await lockMessages(tx, messageIds)
      const ownIds = rows.flatMap(({ ownId, providerMessageId }) =>
        ownId !== null && found.has(ownId) ? [{ messageId: ownId, providerMessageId }] : [],
      )
      const added = ownIds.length > 0 ? await insertProviderIds(tx, channelId, ownIds) : []
      await promoteStatuses(tx, messageIds)
      return [...unknown, ...added]
    },
    { size: statuses.length, ...options },
  )
  await attachEarlyStatuses(scope, channelId, early)
}

/** Our own ID of a message, as the provider returns it; null for a text that is none. */
function toOwnId(messageId: string | null): string | null {
  return messageId !== null && isUuid(messageId) ? messageId : null
}

/** Finds the contacts of reports that they opted out at the provider. */
async function findOptOuts(tx: Scope, channelId: string, statuses: StatusUpdate[]): Promise<FailedMessage[]> {
  const optOuts = statuses.filter(({ error }) => isProviderOptOut(error))
  if (optOuts.length === 0) return []
  const reports = optOuts.map(({ providerMessageId, messageId }, index) => ({
    index,
    providerMessageId,
    ownId: toOwnId(messageId),
  }))
  const rows = await tx.sql<{ messageId: string; contactId: string; index: number }>('findOptOuts')`
    select m.id as message_id, m.contact_id, x.index
     from jsonb_to_recordset(${toRecordset(reports)}::jsonb) as x (index int, provider_message_id text, own_id uuid)
     left join provider_message_ids r on r.tenant_id = ${tx.tenantId} and r.channel_id = ${channelId}
       and r.provider_message_id = x.provider_message_id
     join messages m on m.tenant_id = ${tx.tenantId} and m.id = coalesce(r.message_id, x.own_id) and m.channel_id = ${channelId}
       and m.direction = 'outbound' and ${isOfNoDeletedContactSql(tx.tenantId, 'm')}`
  return rows.flatMap(({ messageId, contactId, index }) => {
    const optOut = optOuts[index]
    return optOut ? [{ messageId, contactId, error: optOut.error, at: optOut.at }] : []
  })
}
