import { Message as MessageRow } from '../../models/messaging.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Message } from '../conversations/schema.ts'
import { attachMedia } from '../media/queries.ts'
import type { MessageRef } from './schema.ts'

/** @throws NotFoundError */
export async function getMessage(scope: Scope, { messageId }: MessageRef): Promise<Message> {
  const row = await scope.get(MessageRow, messageId)
  const [message = row] = await attachMedia(scope, [row])
  return message
}
