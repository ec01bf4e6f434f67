import { deriveId, idTimestamp } from '../../engine/model/derive-id.ts'
import { newId } from '../../platform/ids.ts'

/**
 * A new id for a message, behind the newest of its conversation even if a machine whose clock is ahead gave that one its
 * id: messages are listed and go out in the order of their ids. The caller holds the conversation's lock.
 */
export function nextMessageId(newest: string | null | undefined): string {
  const id = newId()
  return !newest || id > newest ? id : deriveId(id, 0, (idTimestamp(newest) ?? 0) + 1)
}
