import type { ProviderError } from '../../channels/channel.ts'
import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { deliverJob } from '../automation/jobs.ts'
import { maySendSql } from '../channels/load-channel.ts'
import { CLAIM_MS } from './claim-messages.ts'
import { DELIVERY_UNKNOWN, type MessageRef } from './message-status.ts'
import { failMessages } from './settle-messages.ts'

const BATCH = 500

type AbandonedMessage = MessageRef & { channelId: string }

/** Selects the messages that are due by a time. The age counts, as what is due at once has a due time long ago. */
function dueMessagesSql(before: Date, now: Date): SqlFragment {
  return sqlFragment`
    select o.tenant_id, o.channel_id from outbox o join channels ch on ch.tenant_id = o.tenant_id and ch.id = o.channel_id
    where o.not_before <= ${before} and o.created_at <= ${before} and o.leased_at is null and ${maySendSql(now)}`
}

/**
 * Selects the messages whose claim has ended. They were due, which leaves out all that wait: `leased_at` has no index, as it
 * changes with each claim.
 */
function abandonedMessagesSql(before: Date): SqlFragment {
  const leasedBefore = addMs(before, -CLAIM_MS)
  return sqlFragment`select tenant_id from outbox where not_before <= ${leasedBefore} and leased_at < ${leasedBefore}`
}

/** Selects the messages for which there is something to do by a time. */
export function dueOutboxSql(before: Date): SqlFragment {
  return sqlFragment`
    select tenant_id from (${dueMessagesSql(before, before)}) due union all ${abandonedMessagesSql(before)}`
}

/**
 * Enqueues delivery for channels with messages that have been due for `overdueMs`, and fails abandoned messages as
 * `delivery_unknown`: a message whose result was not stored in time may have reached the provider. It is never sent again; a
 * later status resolves it.
 */
export async function reconcileOutbox(system: SystemScope, overdueMs = 0): Promise<void> {
  const now = system.now()
  const channels = await system.acrossTenants<{ tenantId: string; channelId: string }>('listChannelsWithDueMessages')`
    select distinct tenant_id, channel_id from (${dueMessagesSql(addMs(now, -overdueMs), now)}) due`
  system.enqueue(...channels.map(({ tenantId, channelId }) => deliverJob(tenantId, channelId)))
  const leasedBefore = addMs(now, -CLAIM_MS)
  const tenants = await system.acrossTenants<{ tenantId: string }>('listTenantsWithAbandonedMessages')`
    select distinct tenant_id from (${abandonedMessagesSql(now)}) due`
  await forEachTenant(tenants, { log: system.log, task: 'reconcile outbox' }, async (tenantId) => {
    const scope = system.forTenant(tenantId)
    const abandoned = await scope.sql<AbandonedMessage>('listAbandonedMessages')`
      select o.channel_id, o.message_id, m.conversation_id, m.contact_id, m.recipient_id
      from outbox o join messages m on m.tenant_id = ${tenantId} and m.id = o.message_id
      where o.tenant_id = ${tenantId} and o.leased_at < ${leasedBefore} limit ${BATCH}`
    for (const message of abandoned) await scope.transaction((tx) => failAbandoned(tx, message, leasedBefore))
  })
}

/** Fails a message, unless its process is still alive and settles it first: the lock of the message decides. */
async function failAbandoned(tx: Scope, message: AbandonedMessage, leasedBefore: Date): Promise<void> {
  const { messageId, conversationId } = message
  await tx.sql('lockMessage')`
    select from messages where tenant_id = ${tx.tenantId} and id = ${messageId} for no key update`
  const claimed = await tx.sql('findAbandoned')`
    select from outbox where tenant_id = ${tx.tenantId} and conversation_id = ${conversationId}
      and message_id = ${messageId} and leased_at < ${leasedBefore}`
  if (claimed.length > 0) await failMessages(tx, [{ ...message, error: DELIVERY_UNKNOWN_ERROR }])
}

const DELIVERY_UNKNOWN_ERROR: ProviderError = {
  code: DELIVERY_UNKNOWN,
  message:
    'The result of sending this message was not stored, because its process ended or could not reach the database. The message may have been delivered and is not sent again.',
  providerCode: null,
  retryable: false,
  hint: 'Check with the customer before you send it again',
}
