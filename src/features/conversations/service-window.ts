import { DAY } from '../../platform/time.ts'

/** How long after a customer wrote a business may answer in free words. */
export const WINDOW_MS = DAY

/** Open while now is before its end: at the very end it is closed. */
export function isWindowOpen(windowExpiresAt: Date | null, now: Date): boolean {
  return windowExpiresAt !== null && now < windowExpiresAt
}

const PREVIEW_MAX = 160

export type LastMessage = {
  id: string
  body: string | null
  direction: 'inbound' | 'outbound'
  type: string
  at: string
}

/** What a list of conversations shows of the newest message. */
export function toLastMessage({ body, at, ...message }: Omit<LastMessage, 'at'> & { at: Date }): LastMessage {
  return { ...message, body: body?.slice(0, PREVIEW_MAX).toWellFormed() ?? null, at: at.toISOString() }
}
