import { Contact as ContactRow } from '../../models/contacts.ts'
import { Message as MessageRow } from '../../models/messaging.ts'
import type { Job } from '../../platform/jobs/job-queue.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { loadChannel } from '../channels/load-channel.ts'

/**
 * Reports the newest message of a customer as read to the provider, and optionally that somebody is typing. It is a
 * courtesy to the customer: a failure is logged, and nothing is repeated.
 */
export async function sendReadReceipt(
  system: SystemScope,
  { tenantId, key: conversationId }: Pick<Job, 'tenantId' | 'key'>,
  { showsTyping }: { showsTyping: boolean },
): Promise<void> {
  const scope = system.forTenant(tenantId)
  const message = await scope
    .query(MessageRow)
    .where({ conversationId, direction: 'inbound' })
    .whereNotNull('providerMessageId')
    .orderBy([
      { column: 'createdAt', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .first()
  if (!message?.providerMessageId) return
  // A blocked contact learns nothing of what is done with its messages.
  const contact = await scope.find(ContactRow, message.contactId)
  if (!contact || contact.blocked) return
  const { channelId, providerMessageId } = message
  try {
    const { status, adapter } = await loadChannel(scope, channelId)
    if (status === 'disconnected') return
    await adapter.markRead(providerMessageId, { showsTyping })
  } catch (error) {
    system.log.warn({ err: error, tenantId, channelId }, 'could not send a read receipt')
  }
}
