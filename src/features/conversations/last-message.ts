const PREVIEW_MAX = 160

/** Preview of a conversation's newest message, as lists of conversations show it. */
export type LastMessage = {
  id: string
  body: string | null
  direction: 'inbound' | 'outbound'
  type: string
  at: string
}

/** Builds the preview of a message. Its body is cut to 160 characters. */
export function toLastMessage({ body, at, ...message }: Omit<LastMessage, 'at'> & { at: Date }): LastMessage {
  return { ...message, body: body?.slice(0, PREVIEW_MAX).toWellFormed() ?? null, at: at.toISOString() }
}
