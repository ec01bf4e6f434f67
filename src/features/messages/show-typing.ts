import { Contact as ContactRow } from '../../models/contacts.ts'
import { Conversation as ConversationRow } from '../../models/messaging.ts'
import type { Scope } from '../../scope/scope.ts'
import { typingJob } from '../automation/jobs.ts'
import { contactBlockedError } from '../contacts/contact-blocked-error.ts'
import type { ConversationRef } from '../conversations/schema.ts'

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
