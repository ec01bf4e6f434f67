import type { ProviderError } from '../../../channels/channel.ts'
import { type SqlFragment, sqlFragment } from '../../../platform/database/statements/statement.ts'
import { addMs, DAY, HOUR } from '../../../platform/time.ts'
import type { Scope } from '../../../scope/scope.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'
import { lockMessages } from '../../automation/lock-order.ts'
import { applyProviderOptOuts } from '../../consent/provider-choices.ts'
import { purgeTenantRows } from '../../retention/purge-rows.ts'
import { promoteStatuses } from './promote-statuses.ts'

/** Age of the oldest statuses that `attachForgottenStatuses` looks for. */
const FORGOTTEN_MAX_MS = HOUR
const FORGOTTEN_BATCH = 1000

type EarlyStatus = { messageId: string; contactId: string; status: string; error: ProviderError | null; at: Date }

/** Retention of statuses of no message. The provider's ID of a message is stored within minutes. */
const UNATTACHED_RETENTION_MS = DAY

/**
 * Applies the stored statuses of these provider IDs whose messages were not known when they arrived. A transaction that
 * stores statuses and one that stores provider IDs do not see each other's rows, so both call this after their commit:
 * the later one sees the rows of both, without a lock. If it fails, a periodic task does the same.
 */
export async function attachEarlyStatuses(
  scope: Scope,
  channelId: string,
  providerMessageIds: string[],
): Promise<void> {
  if (providerMessageIds.length === 0) return
  try {
    await attach(scope, channelId, providerMessageIds)
  } catch (error) {
    scope.log.warn({ event: 'statuses_late', err: error, channelId }, 'delivery statuses wait for the periodic task')
  }
}

/** Returns the condition of a status, in a statement with the alias `s`, whose message was not known when it arrived. */
export function isEarlySql(tenantId: string, channelId: string, providerMessageIds: string[]): SqlFragment {
  return sqlFragment`s.tenant_id = ${tenantId} and s.channel_id = ${channelId}
      and s.provider_message_id = any(${providerMessageIds}) and s.message_id is null`
}

async function attach(scope: Scope, channelId: string, providerMessageIds: string[]): Promise<void> {
  const early = await scope.sql<EarlyStatus>('findEarlyStatuses')`
    select m.id as message_id, m.contact_id, s.status, s.error, s.provider_at as at
    from message_statuses s
    join provider_message_ids r on r.tenant_id = ${scope.tenantId} and r.channel_id = ${channelId}
      and r.provider_message_id = s.provider_message_id
    join messages m on m.tenant_id = ${scope.tenantId} and m.id = r.message_id
    where ${isEarlySql(scope.tenantId, channelId, providerMessageIds)}`
  if (early.length === 0) return
  const messageIds = [...new Set(early.map(({ messageId }) => messageId))]
  await scope.transaction(
    async (tx) => {
      await applyProviderOptOuts(tx, channelId, early)
      await lockMessages(tx, messageIds)
      await tx.sql('attachEarlyStatuses')`
        update message_statuses s set message_id = r.message_id from provider_message_ids r
        where s.tenant_id = ${tx.tenantId} and s.channel_id = ${channelId}
          and s.provider_message_id = any(${providerMessageIds}) and s.message_id is null
          and r.tenant_id = ${tx.tenantId} and r.channel_id = ${channelId}
          and r.provider_message_id = s.provider_message_id and r.message_id = any(${messageIds})`
      await promoteStatuses(tx, messageIds)
    },
    { size: early.length },
  )
}

type ForgottenStatuses = { tenantId: string; channelId: string; providerMessageIds: string[] }

/** Applies early statuses of the last hour that a process did not apply because it ended or lost the database. */
export async function attachForgottenStatuses(system: SystemScope): Promise<void> {
  const forgotten = await system.acrossTenants<ForgottenStatuses>('listForgottenStatuses')`
    select tenant_id, channel_id, array_agg(distinct provider_message_id) as provider_message_ids
    from (
      select s.tenant_id, s.channel_id, s.provider_message_id
      from message_statuses s
      join provider_message_ids r on r.tenant_id = s.tenant_id and r.channel_id = s.channel_id
        and r.provider_message_id = s.provider_message_id
      where s.message_id is null and s.created_at > ${addMs(system.now(), -FORGOTTEN_MAX_MS)}
        and ${system.deletedWorkspaces.exceptSql('s')}
      limit ${FORGOTTEN_BATCH}) forgotten
    group by tenant_id, channel_id`
  for (const { tenantId, channelId, providerMessageIds } of forgotten) {
    await attachEarlyStatuses(system.forTenant(tenantId), channelId, providerMessageIds)
  }
}

/**
 * Deletes statuses whose message is not known: it was deleted before they arrived, with its contact for example, or
 * another program sent it with the same number.
 */
export async function purgeUnattachedStatuses(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -UNATTACHED_RETENTION_MS)
  await purgeTenantRows(system, {
    table: sqlFragment`message_statuses`,
    key: sqlFragment`jsonb_build_object('id', t.id)`,
    isSame: sqlFragment`t.id = old.id`,
    isOld: sqlFragment`t.message_id is null and t.created_at < ${oldest}`,
  })
}
