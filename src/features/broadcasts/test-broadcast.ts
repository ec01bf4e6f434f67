import { Broadcast as BroadcastRow } from '../../models/broadcasts.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { toSender } from '../../scope/dependencies.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertMaySendOn } from '../consent/send-permission.ts'
import { findOrCreateContacts } from '../contacts/find-or-create-contacts.ts'
import { ensureConversations } from '../conversations/ensure-conversations.ts'
import { nextMessageId, queueMessages } from '../outbound/queue-messages.ts'
import { assertHeaderFile, fillTemplate, loadSendableTemplate } from '../templates/sendable-template.ts'
import { assertExisting } from './audience/replace-audience.ts'
import { loadCandidates } from './audience/candidates.ts'
import { decideRecipients } from './audience/decide-recipients.ts'
import type { BroadcastTest, TestBroadcast } from './schema.ts'

/**
 * Sends the message of a broadcast to a few people at once, who do not become recipients of it. They were chosen one by
 * one, so they need no opt-in; blocks and opt-outs apply to them, too.
 * @throws NotFoundError, UnprocessableError of templates, and `test_not_sent` if nobody may be sent the message
 */
export function testBroadcast(
  scope: Scope,
  { broadcastId, contactIds = [], phones = [] }: TestBroadcast,
): Promise<BroadcastTest> {
  return scope.transaction(async (tx) => {
    const broadcast = await tx.get(BroadcastRow, broadcastId)
    const { channelId, templateId } = broadcast
    await assertExisting(tx, 'Contact', contactIds)
    assertMaySendOn(tx, channelId)
    const template = await loadSendableTemplate(tx, channelId, { templateId })
    const params = await assertHeaderFile(tx, template, broadcast.params)
    const found = await findOrCreateContacts(
      tx,
      phones.map((phone) => ({ phone })),
    )
    const ids = [...new Set([...contactIds.map((id) => id.toLowerCase()), ...found.map(({ contactId }) => contactId)])]
    const conversations = await ensureConversations(tx, channelId, ids)
    // Nobody is excluded from a test or capped, and recipients of the broadcast may be sent it.
    const tested = { id: newId(), channelId, audience: {}, frequencyCap: null }
    const candidates = await loadCandidates(tx, tested, ids)
    const items: BroadcastTest['items'] = []
    const decisions = await decideRecipients({ params, requiresOptIn: false }, template, candidates)
    const messages = decisions.flatMap(({ candidate, params: values, skipReason }) => {
      const { contactId } = candidate
      const conversation = conversations.get(contactId)
      const messageId = skipReason === null && conversation ? nextMessageId(conversation.lastMessageId) : null
      items.push({ contactId, messageId, skipReason })
      if (!conversation || messageId === null) return []
      const sender = toSender(tx.actor)
      const { conversationId } = conversation
      const filled = fillTemplate(template, values)
      return [{ id: messageId, conversationId, contactId, channelId, ...filled, sender, runId: null, stepId: null }]
    })
    if (items.length > 0 && messages.length === 0) throw notSentError(items)
    await queueMessages(tx, messages)
    return { items }
  })
}

function notSentError(items: BroadcastTest['items']): UnprocessableError {
  const reasons = [...new Set(items.map(({ skipReason }) => skipReason))].join(', ')
  return new UnprocessableError('test_not_sent', `Nobody may be sent the test (${reasons}). Choose another contact`, {
    items,
  })
}
