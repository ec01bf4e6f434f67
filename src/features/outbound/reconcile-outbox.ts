import { deliverJob } from '../automation/jobs.ts'
import { addMs, MINUTE } from '../../platform/time.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { failMessages } from './settle-messages.ts'

/** How long a claimed message may be without an outcome before it counts as in doubt. */
const DOUBT_AFTER_MS = 2 * MINUTE

type Doubt = { tenantId: string; channelId: string; messageId: string; conversationId: string; contactId: string }

/**
 * Rings for channels with something due, and makes doubts visible: a message claimed by a process that died may or may
 * not have reached the provider. It is marked and never sent again; a status that still comes settles it.
 */
export async function reconcileOutbox(system: SystemScope): Promise<void> {
  const now = system.now()
  const due = await system
    .db('outbox')
    .where('not_before', '<=', now)
    .whereNull('leased_at')
    .distinct<{ tenant_id: string; channel_id: string }[]>('tenant_id', 'channel_id')
  await system.enqueue(...due.map(({ tenant_id, channel_id }) => deliverJob(tenant_id, channel_id)))
  const leasedBefore = addMs(now, -DOUBT_AFTER_MS)
  const { rows } = await system.db.raw<{ rows: Doubt[] }>(
    `select o.tenant_id as "tenantId", o.channel_id as "channelId", o.message_id as "messageId",
       m.conversation_id as "conversationId", m.contact_id as "contactId"
     from outbox o join messages m on m.tenant_id = o.tenant_id and m.id = o.message_id
     where o.leased_at < ? limit 500`,
    [leasedBefore],
  )
  for (const doubt of rows) {
    await system.forTenant(doubt.tenantId).transaction((tx) => giveUp(tx, doubt, leasedBefore))
  }
}

/** Its process may live after all and settle it at this moment: whoever has the message first decides. */
async function giveUp(tx: Scope, doubt: Doubt, leasedBefore: Date): Promise<void> {
  const { channelId, messageId, conversationId } = doubt
  await tx.db.raw('select from messages where tenant_id = ? and id = ? for no key update', [tx.tenantId, messageId])
  const claimed = await tx
    .db('outbox')
    .where({ tenant_id: tx.tenantId, conversation_id: conversationId, message_id: messageId })
    .where('leased_at', '<', leasedBefore)
    .select('message_id')
  if (claimed.length > 0) await failMessages(tx, channelId, [{ ...doubt, error: IN_DOUBT }])
}

const IN_DOUBT = {
  code: 'delivery_unknown',
  message:
    'The process that sent this message ended before the provider answered. It may have arrived; it is not sent again',
  providerCode: null,
  retryable: false,
  hint: 'Ask the customer, or look at the phone, before you write it again',
}
