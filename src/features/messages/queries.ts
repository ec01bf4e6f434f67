import { Message as MessageRow } from '../../models/messaging/message.ts'
import type { Scope } from '../../scope.ts'
import type { Message } from '../conversations/schema.ts'
import type { MessageRef } from './schema.ts'

/** @throws NotFoundError */
export function getMessage(scope: Scope, { messageId }: MessageRef): Promise<Message> {
  return scope.get(MessageRow, messageId)
}
