import { Message as MessageRow } from '../../models/messaging.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Message } from '../conversations/schema.ts'
import { messageEvent } from '../outbound/message-event.ts'
import { STATUS_CHANGES } from '../outbound/message-status.ts'
import type { MessageRef } from './schema.ts'

/**
 * Cancels a message before its time.
 * @throws ConflictError `message_not_scheduled`
 */
export function cancelMessage(scope: Scope, { messageId }: MessageRef): Promise<Message> {
  return scope.transaction(async (tx) => {
    const { status, conversationId, contactId } = await tx.lock(MessageRow, messageId)
    if (status !== 'scheduled') {
      throw new ConflictError(
        'message_not_scheduled',
        `The message is ${status}. Only a scheduled message can be canceled, before its time`,
      )
    }
    const { to } = STATUS_CHANGES.cancelScheduled
    await tx.query(MessageRow).findOne('id', messageId).patch({ status: to, releaseAt: null, updatedAt: tx.now() })
    await tx.record(messageEvent('message.canceled', { messageId, conversationId, contactId }))
    return tx.get(MessageRow, messageId)
  })
}
