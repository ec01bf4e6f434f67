import { selectRows } from '../../platform/database/sql.ts'
import { addMs, MINUTE } from '../../platform/time.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { deliverJob } from '../automation/jobs.ts'
import type { MessageRef } from './message-event.ts'
import { IN_DOUBT_CODE } from './message-status.ts'
import { failMessages } from './settle-messages.ts'

/** A message claimed this long ago without an outcome is in doubt. */
const DOUBT_AFTER_MS = 2 * MINUTE
const BATCH = 500

type LostMessage = MessageRef & { tenantId: string; channelId: string }

/**
 * Enqueues delivery for channels with due messages, and fails messages in doubt: one claimed by a process that died may
 * or may not have reached the provider. It is never sent again; a status that the provider reports later settles it.
 */
export async function reconcileOutbox(system: SystemScope): Promise<void> {
  const now = system.now()
  const channels = await selectRows<{ tenantId: string; channelId: string }>(
    system.db,
    'select distinct tenant_id, channel_id from outbox where not_before <= ? and leased_at is null',
    [now],
  )
  await system.enqueue(...channels.map(({ tenantId, channelId }) => deliverJob(tenantId, channelId)))
  const leasedBefore = addMs(now, -DOUBT_AFTER_MS)
  const lost = await selectRows<LostMessage>(
    system.db,
    `select o.tenant_id, o.channel_id, o.message_id, m.conversation_id, m.contact_id
     from outbox o join messages m on m.tenant_id = o.tenant_id and m.id = o.message_id
     where o.leased_at < ? limit ?`,
    [leasedBefore, BATCH],
  )
  for (const message of lost) {
    await system.forTenant(message.tenantId).transaction((tx) => failLost(tx, message, leasedBefore))
  }
}

/** Fails a message unless its process is alive after all and settles it first: the lock of the message decides. */
async function failLost(tx: Scope, message: LostMessage, leasedBefore: Date): Promise<void> {
  const { channelId, messageId, conversationId } = message
  await tx.db.raw('select from messages where tenant_id = ? and id = ? for no key update', [tx.tenantId, messageId])
  const claimed = await tx
    .db('outbox')
    .where({ tenant_id: tx.tenantId, conversation_id: conversationId, message_id: messageId })
    .where('leased_at', '<', leasedBefore)
    .select('message_id')
  if (claimed.length > 0) await failMessages(tx, channelId, [{ ...message, error: IN_DOUBT }])
}

const IN_DOUBT = {
  code: IN_DOUBT_CODE,
  message:
    'The process that sent this message ended before the provider answered. The message may have been delivered and is not sent again.',
  providerCode: null,
  retryable: false,
  hint: 'Check with the customer before you send it again',
}
