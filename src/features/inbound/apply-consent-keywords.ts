import { Contact as ContactRow } from '../../models/contacts.ts'
import type { Scope } from '../../scope/scope.ts'
import {
  composeConfirmation,
  type ConsentKeyword,
  findConsentKeyword,
  type KeywordSettings,
} from '../consent/keywords.ts'
import { findSendObstacle } from '../../channels/send-obstacle.ts'
import { changeConsents } from '../contacts/change-consents.ts'
import { isWindowOpen, windowExpiryFrom } from '../conversations/service-window.ts'
import { nextMessageId, queueMessages } from '../outbound/queue-messages.ts'
import type { NewInboundMessage } from './insert-inbound.ts'

type KeywordMessage = ConsentKeyword & { received: NewInboundMessage }

/** Types of messages that can be a keyword. Options that a workflow offered are answers to it. */
const TYPES = new Set(['text', 'button'])

/** Finds the messages that are a keyword. Workflows do not react to them. */
export function findConsentKeywords(settings: KeywordSettings, messages: NewInboundMessage[]): KeywordMessage[] {
  return messages.flatMap((received): KeywordMessage[] => {
    const { type, body } = received.message
    const keyword = TYPES.has(type) ? findConsentKeyword(settings, body) : undefined
    return keyword ? [{ ...keyword, received }] : []
  })
}

/**
 * Changes the consents of contacts who wrote a keyword, and queues one confirmation for each change. The caller holds the
 * locks of the conversations and contacts.
 */
export async function applyConsentKeywords(
  tx: Scope,
  channelId: string,
  { settings, found, messages }: { settings: KeywordSettings; found: KeywordMessage[]; messages: NewInboundMessage[] },
): Promise<void> {
  if (found.length === 0) return
  const recorded = await changeConsents(
    tx,
    found.map(({ state, keyword, received: { id: messageId, message, conversation } }) => ({
      contactId: conversation.contactId,
      purpose: 'marketing',
      state,
      source: 'keyword',
      actor: { type: 'contact', id: conversation.contactId, name: null },
      text: message.body,
      keyword,
      channelId,
      messageId,
    })),
  )
  const changedBy = new Set(recorded.map(({ messageId }) => messageId))
  const changes = found.filter(({ received }) => changedBy.has(received.id))
  await confirmChanges(tx, { channelId, changes, settings, messages })
}

type Confirmations = {
  channelId: string
  changes: KeywordMessage[]
  settings: KeywordSettings
  /** All messages of the batch: the ids of confirmations follow those of the conversation. */
  messages: NewInboundMessage[]
}

async function confirmChanges(tx: Scope, { channelId, changes, settings, messages }: Confirmations): Promise<void> {
  if (changes.length === 0) return
  const rows = await tx.query(ContactRow).whereIn(
    'id',
    changes.map(({ received }) => received.conversation.contactId),
  )
  const contacts = new Map(rows.map((row) => [row.id, row]))
  const newestIds = new Map(messages.map(({ id, conversation }) => [conversation.conversationId, id]))
  const confirmations = changes.flatMap(({ received: { message, conversation }, ...keyword }) => {
    const { conversationId, contactId, windowExpiresAt } = conversation
    const contact = contacts.get(contactId)
    const isOpen = [windowExpiresAt, windowExpiryFrom(message.at)].some((expiry) => isWindowOpen(expiry, tx.now()))
    if (!contact || !isOpen || findSendObstacle(contact, null) !== null) return []
    const id = nextMessageId(newestIds.get(conversationId))
    newestIds.set(conversationId, id)
    return {
      id,
      conversationId,
      contactId,
      channelId,
      body: composeConfirmation(settings, keyword, contact.language),
      content: null,
      sender: { type: 'system' as const, id: null, name: null },
      runId: null,
      stepId: null,
    }
  })
  await queueMessages(tx, confirmations)
}
