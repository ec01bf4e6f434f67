import type { Event } from '../../scope/dependencies.ts'

export type MessageRef = {
  messageId: string
  conversationId: string
  contactId: string
  /** Recipient of a broadcast. */
  recipientId?: string | null
}

/** Builds the event of a message from its ids. */
export function messageEvent(type: Event['type'], { messageId, conversationId, contactId }: MessageRef): Event {
  return { type, data: { messageId, conversationId, contactId } }
}
