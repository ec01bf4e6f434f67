import type { Contact as ContactRow } from '../../models/contacts.ts'
import { AppError, NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { tryItem } from '../../trpc/bulk.ts'
import {
  addConversations,
  type ConversationPair,
  type LockedConversation,
  lockConversations,
} from '../conversations/ensure-conversations.ts'
import type { MessageSources } from './message-sources.ts'
import type { MessageInput, Recipient } from './schema.ts'
import { composeMessage } from './send-message.ts'
import type { ComposedContent, ComposedMessage } from './store-messages.ts'

/** A message to a contact on a channel, on which it may have no conversation yet. */
export type Target = ConversationPair & { to: Recipient; input: MessageInput }

/** A conversation that does not exist. */
export const NEW_PLACE = { conversationId: null, lastInboundAt: null, windowExpiresAt: null }

/** A contact that does not exist. */
export const NEW_RECIPIENT = { blocked: false, marketingConsent: 'unknown', serviceConsent: 'unknown' } as const

type RecipientRow = Pick<ContactRow, 'id' | 'phone' | 'blocked' | 'marketingConsent' | 'serviceConsent'>

type Facts = {
  sources: MessageSources
  conversations: ReadonlyMap<string, LockedConversation>
  recipients: ReadonlyMap<string, RecipientRow>
}

/** A message that may be sent, in a conversation that exists or in none. */
type Composed = { target: Target; place: LockedConversation | undefined; composed: ComposedContent }

/**
 * Composes messages in their conversations, which are locked, or created for messages that may be sent. Those that are
 * refused become errors.
 */
export async function composeInConversations(
  tx: Scope,
  sources: MessageSources,
  targets: Target[],
): Promise<(ComposedMessage | AppError)[]> {
  const conversations = byPair(await lockConversations(tx, targets))
  const facts = { sources, conversations, recipients: await loadRecipients(tx, targets) }
  const composed = targets.map((target) => compose(tx, facts, target))
  const missing = composed.flatMap((one) => (one instanceof AppError || one.place ? [] : [one.target]))
  const added = await addConversations(tx, missing)
  const created = added.filter(({ isNew }) => isNew)
  const raced = added.filter(({ isNew }) => !isNew)
  const createdByPair = byPair(created)
  // Somebody else has created these, such as the customer by a first message, which changes what may be sent.
  const racedFacts = { sources, conversations: byPair(raced), recipients: await loadRecipients(tx, raced) }
  await tx.record(
    ...created.map(({ conversationId, contactId }) => ({
      type: 'conversation.opened' as const,
      data: { conversationId, contactId },
    })),
  )
  return composed.map((first) => {
    if (first instanceof AppError) return first
    const place = first.place ?? createdByPair.get(pairKey(first.target))
    const current = place ? { ...first, place } : compose(tx, racedFacts, first.target)
    return current instanceof AppError ? current : toComposedMessage(current)
  })
}

function compose(tx: Scope, { sources, conversations, recipients }: Facts, target: Target): Composed | AppError {
  const { channelId, contactId, input } = target
  return tryItem(() => {
    const recipient = recipients.get(contactId)
    if (!recipient) throw new NotFoundError('Contact')
    const place = conversations.get(pairKey(target))
    if (!place && recipient.phone === null) throw unreachableError()
    const circumstances = { sources, place: place ?? { ...NEW_PLACE, channelId }, recipient }
    return { target, place, composed: composeMessage(tx, circumstances, input) }
  })
}

function toComposedMessage({ target, place, composed }: Composed): ComposedMessage | AppError {
  // Its contact, and the conversation with it, was deleted meanwhile.
  return place ? { place, composed, input: target.input } : new NotFoundError('Contact')
}

/** A contact without a phone number can only be reached where it has written: there it has a conversation. */
function unreachableError(): UnprocessableError {
  return new UnprocessableError(
    'contact_unreachable',
    'This contact has no phone number and has not written on this channel. Add a phone number, or choose another channel',
  )
}

function byPair<Pair extends ConversationPair>(pairs: Pair[]): Map<string, Pair> {
  return new Map(pairs.map((pair) => [pairKey(pair), pair]))
}

function pairKey({ channelId, contactId }: ConversationPair): string {
  return `${channelId} ${contactId}`
}

/** Loads what decides whether contacts may be sent a message. */
async function loadRecipients(tx: Scope, pairs: ConversationPair[]): Promise<Map<string, RecipientRow>> {
  if (pairs.length === 0) return new Map()
  const rows = await tx.sql<RecipientRow>('loadRecipients')`
    select id, phone, blocked, marketing_consent, service_consent from contacts
    where tenant_id = ${tx.tenantId} and id = any(${pairs.map(({ contactId }) => contactId)})`
  return new Map(rows.map((row) => [row.id, row]))
}
