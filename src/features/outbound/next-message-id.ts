import { deriveId, idTimestamp } from '../../engine/model/derive-id.ts'
import { newId } from '../../platform/ids.ts'

/**
 * Returns a new message id that sorts after `newest`, the newest message of the conversation, even if another machine
 * whose clock is ahead created that one: messages are listed and sent in the order of their ids. The caller holds the
 * lock of the conversation.
 */
export function nextMessageId(newest: string | null | undefined): string {
  const id = newId()
  return !newest || id > newest ? id : deriveId(id, 0, (idTimestamp(newest) ?? 0) + 1)
}
