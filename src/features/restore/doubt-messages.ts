import type { ProviderError } from '../../channels/channel.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { lockMessages } from '../automation/lock-order.ts'
import { releaseScheduledMessages } from '../messages/scheduled-messages.ts'
import { DELIVERY_UNKNOWN, type MessageRef } from '../outbound/message-status.ts'
import { failMessages } from '../outbound/settle-messages.ts'
import { countUnsettled, MAY_BE_SENT } from './count-unsettled.ts'

const PORTION = 500

export const RESTORED_ERROR: ProviderError = {
  code: DELIVERY_UNKNOWN,
  message:
    'The database was restored to a time before the result of this message was known. The message may have been delivered and is not sent again.',
  providerCode: null,
  retryable: false,
  hint: 'Check with the customer before you send it again',
}

/**
 * Fails all messages that are queued or being sent as `delivery_unknown`, and the scheduled ones whose time has come, in
 * portions that commit one by one. A later status of the provider resolves them.
 */
export async function doubtMessages(system: SystemScope): Promise<void> {
  await releaseDue(system)
  const tenants = await system.acrossTenants<{ tenantId: string }>('listTenantsWithOutbox')`
    select distinct tenant_id from outbox`
  for (const { tenantId } of tenants) {
    const scope = system.forTenant(tenantId)
    for (let failed = PORTION; failed === PORTION;) failed = await scope.transaction(failPortion)
  }
}

/** Puts the scheduled messages whose time has come into the outbox, as a worker does. Those of deleted workspaces stay. */
async function releaseDue(system: SystemScope): Promise<void> {
  let before = Infinity
  for (;;) {
    const { scheduledMessages } = await countUnsettled(system)
    if (scheduledMessages === 0 || scheduledMessages >= before) return
    before = scheduledMessages
    await releaseScheduledMessages(system)
  }
}

async function failPortion(tx: Scope): Promise<number> {
  const { tenantId } = tx
  const messages = await tx.sql<MessageRef>('listUnsettledMessages')`
    select o.message_id, m.conversation_id, m.contact_id, m.recipient_id
    from outbox o join channels ch on ch.tenant_id = ${tenantId} and ch.id = o.channel_id
    join messages m on m.tenant_id = ${tenantId} and m.id = o.message_id
    where o.tenant_id = ${tenantId} and ${MAY_BE_SENT} order by o.message_id limit ${PORTION}`
  await lockMessages(
    tx,
    messages.map(({ messageId }) => messageId),
  )
  await failMessages(
    tx,
    messages.map((message) => ({ ...message, error: RESTORED_ERROR })),
  )
  return messages.length
}
