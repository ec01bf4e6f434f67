import { Contact as ContactRow } from '../../models/contacts.ts'
import { Conversation as ConversationRow, Message as MessageRow } from '../../models/messaging.ts'
import type { Job } from '../../platform/jobs/job-queue.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { typingJob } from '../automation/jobs.ts'
import { loadChannel } from '../channels/load-channel.ts'
import { contactBlockedError } from '../contacts/errors.ts'
import type { ConversationRef } from '../conversations/schema.ts'

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
    system.log.warn({ event: 'read_receipt_failed', err: error, tenantId, channelId }, 'could not send a read receipt')
  }
}

/**
 * Shows the customer, in the background, that somebody is typing.
 * @throws NotFoundError, UnprocessableError `contact_blocked`
 */
export async function showTyping(scope: Scope, { conversationId }: ConversationRef): Promise<Record<never, never>> {
  const { contactId } = await scope.get(ConversationRow, conversationId)
  const { blocked } = await scope.get(ContactRow, contactId)
  if (blocked) throw contactBlockedError('receives no messages')
  scope.enqueue(typingJob(scope.tenantId, conversationId))
  return {}
}
