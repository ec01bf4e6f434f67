import { isParleyError } from '@parley/client'
import { useParleyClient } from '@parley/client/react'
import { useEffect, useSyncExternalStore } from 'react'
import { createListeners } from '../kit/listeners.ts'
import { toMessage } from '../kit/states.tsx'
import { readNow } from '../kit/time.tsx'
import { readFailed, writeFailed } from './drafts.ts'

/** A text on its way: without a reason and an ID it is being sent. */
export type Unsent = { key: string; body: string; reason?: string | undefined; messageId?: string | undefined }

/** The server keeps the key of a text for a day. */
const NO_ANSWER = 'It is not known if this was sent. Sending it again within 24 hours sends nothing twice.'

/** The texts of conversations. They are kept while other pages are shown, on which answers arrive as well. */
const texts = new Map<string, readonly Unsent[]>()
const { subscribe, notify } = createListeners()

function readTexts(conversationId: string): readonly Unsent[] {
  const known = texts.get(conversationId)
  if (known) return known
  const stored = readFailed(conversationId)
  texts.set(conversationId, stored)
  return stored
}

function writeTexts(conversationId: string, changed: readonly Unsent[]): void {
  texts.set(conversationId, changed)
  notify()
}

/** Replaces the text with a key, or removes it. What may not have been sent is stored, as the page may be left before the answer. */
function change(conversationId: string, key: string, entry?: Unsent): void {
  const isSettled = entry === undefined || entry.messageId !== undefined
  writeFailed(conversationId, key, isSettled ? undefined : { key, body: entry.body, reason: entry.reason ?? NO_ANSWER })
  const others = readTexts(conversationId).filter((other) => other.key !== key)
  writeTexts(conversationId, entry ? [...others, entry].sort(byKey) : others)
}

/** The texts of a conversation that its list of messages does not yet have. Those that may not have been sent outlive the page. */
export function useOutbox(conversationId: string) {
  const client = useParleyClient()
  const unsent = useSyncExternalStore(subscribe, () => readTexts(conversationId))
  useEffect(() => {
    // A list that is read from now on has what was sent before.
    writeTexts(
      conversationId,
      readTexts(conversationId).filter(({ messageId }) => messageId === undefined),
    )
  }, [conversationId])
  const post = (key: string, body: string) => {
    change(conversationId, key, { key, body })
    client.conversations.send.mutate({ conversationId, body }, { context: { idempotencyKey: key } }).then(
      ({ id }) => change(conversationId, key, { key, body, messageId: id }),
      (error: unknown) => change(conversationId, key, { key, body, reason: toReason(error) }),
    )
  }
  return {
    unsent,
    send: (body: string) => post(newKey(), body),
    retry: ({ key, body }: Unsent) => post(key, body),
    discard: ({ key }: Unsent) => change(conversationId, key),
  }
}

/** Returns true if the text may have been sent, as far as this page knows. */
export function isUncertain({ reason }: Unsent): boolean {
  return reason === NO_ANSWER
}

function toReason(error: unknown): string {
  const hasNoAnswer = isParleyError(error) && (!error.data || error.data.code === 'idempotency_in_progress')
  return hasNoAnswer ? NO_ANSWER : toMessage(error)
}

/** Keys are in the order of the texts. */
function newKey(): string {
  return `${readNow()}`.padStart(16, '0') + Math.random().toString(36).slice(2, 10)
}

function byKey(one: Unsent, other: Unsent): number {
  return one.key < other.key ? -1 : 1
}
