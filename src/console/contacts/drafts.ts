import { isObject } from '../kit/narrow.ts'
import { readStored, store } from '../kit/storage.ts'

/** A text of which it is not known that it was sent, with the reason. */
export type FailedText = { key: string; body: string; reason: string }

const draftKey = (conversationId: string) => `parley draft ${conversationId}`
const failedKey = (conversationId: string) => `parley unsent ${conversationId}`

export function readDraft(conversationId: string): string {
  return readStored(draftKey(conversationId)) ?? ''
}

export function writeDraft(conversationId: string, text: string): void {
  store(draftKey(conversationId), text === '' ? null : text)
}

export function readFailed(conversationId: string): FailedText[] {
  try {
    const stored: unknown = JSON.parse(readStored(failedKey(conversationId)) ?? '[]')
    return Array.isArray(stored) ? stored.filter(isFailedText) : []
  } catch {
    return []
  }
}

/** Stores a text, in the place of that with its key; without one it is removed. Those of other tabs stay. */
export function writeFailed(conversationId: string, key: string, failed?: FailedText): void {
  const others = readFailed(conversationId).filter((other) => other.key !== key)
  const changed = failed ? [...others, failed] : others
  store(failedKey(conversationId), changed.length === 0 ? null : JSON.stringify(changed))
}

function isFailedText(value: unknown): value is FailedText {
  return isObject(value) && ['key', 'body', 'reason'].every((name) => typeof value[name] === 'string')
}
