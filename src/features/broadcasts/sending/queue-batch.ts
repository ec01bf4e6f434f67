import {
  fillComponents,
  type FilledTemplate,
  type SendableTemplate,
} from '../../../channels/templates/fill-template.ts'
import type { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import { toRecordset } from '../../../platform/database/sql.ts'
import type { Scope } from '../../../scope/scope.ts'
import { ensureConversations, type EnsuredConversation } from '../../conversations/ensure-conversations.ts'
import { isWindowOpen } from '../../conversations/service-window.ts'
import { nextMessageId, queueMessages } from '../../outbound/queue-messages.ts'
import { allowsRecipientSql, recipientStatusSql } from '../../broadcast-recipients/recipient-status.ts'
import { listUncounted, readRemainingLimit } from '../../broadcast-recipients/messaging-limit.ts'
import { type PickedRecipient, skipRecipients } from './pick-recipients.ts'

export type FilledRecipient = PickedRecipient & FilledTemplate
type Prepared = { recipient: FilledRecipient; conversation: EnsuredConversation; messageId: string }

/**
 * Fills in the template for picked recipients. It may have been changed at the provider since their parameters were
 * checked: those whose parameters do not fit any more are skipped. Returns null if nobody's do, and skips nobody.
 */
export async function fillRecipients(
  tx: Scope,
  template: SendableTemplate,
  picked: PickedRecipient[],
): Promise<FilledRecipient[] | null> {
  const filled: FilledRecipient[] = []
  const unfit: { id: string; reason: 'invalid_params' }[] = []
  for (const recipient of picked) {
    const result = fillComponents(template, recipient.params)
    if ('problems' in result) unfit.push({ id: recipient.id, reason: 'invalid_params' })
    else filled.push({ ...recipient, ...result })
  }
  if (filled.length === 0) return null
  await skipRecipients(tx, unfit)
  return filled
}

/**
 * Queues the messages of picked recipients, who become `sending`, and returns their number. The lock of the conversations
 * comes first, so recipients who have been skipped or deleted meanwhile are left out.
 */
export async function queueBatch(
  tx: Scope,
  broadcast: BroadcastRow,
  picked: FilledRecipient[],
  messagingLimit: number | null,
): Promise<{ queued: number; isLimited: boolean }> {
  const conversations = await ensureConversations(
    tx,
    broadcast.channelId,
    picked.map(({ contactId }) => contactId),
  )
  const reachable = picked.flatMap((recipient): Prepared[] => {
    const conversation = conversations.get(recipient.contactId)
    return conversation ? [{ recipient, conversation, messageId: nextMessageId(conversation.lastMessageId) }] : []
  })
  const { allowed, isLimited } = await applyMessagingLimit(tx, reachable, messagingLimit)
  const startedIds = await startSending(tx, allowed)
  const started = allowed.filter(({ recipient }) => startedIds.has(recipient.id))
  await queueMessages(
    tx,
    started.map(({ recipient, conversation, messageId }) => ({
      id: messageId,
      conversationId: conversation.conversationId,
      contactId: recipient.contactId,
      channelId: broadcast.channelId,
      body: recipient.body,
      content: recipient.content,
      category: recipient.category,
      sender: { type: 'broadcast' as const, id: broadcast.id, name: broadcast.name },
      runId: null,
      stepId: null,
      broadcastId: broadcast.id,
      recipientId: recipient.id,
    })),
  )
  return { queued: started.length, isLimited }
}

/** Leaves out the recipients to whom the business would write first and may not any more today. */
async function applyMessagingLimit(tx: Scope, prepared: Prepared[], limit: number | null) {
  if (limit === null) return { allowed: prepared, isLimited: false }
  const now = tx.now()
  const outside = prepared.filter(({ conversation }) => !isWindowOpen(conversation.windowExpiresAt, now))
  const first = await listUncounted(
    tx,
    outside.map(({ recipient }) => recipient.contactId),
  )
  let remaining = await readRemainingLimit(tx, limit)
  const allowed = prepared.filter(({ recipient }) => !first.has(recipient.contactId) || remaining-- > 0)
  return { allowed, isLimited: allowed.length < prepared.length }
}

/** Makes recipients who are still pending `sending`, each with the message of its next attempt, and returns their ids. */
async function startSending(tx: Scope, prepared: Prepared[]): Promise<Set<string>> {
  if (prepared.length === 0) return new Set()
  const rows = prepared.map(({ recipient, messageId }) => ({
    id: recipient.id,
    messageId,
    address: recipient.address,
  }))
  const started = await tx.sql<{ id: string }>('startSending')`
    update broadcast_recipients r set status = ${recipientStatusSql('start')}, message_id = x.message_id,
       sent_to = nullif(x.address, r.address), attempt = attempt + 1,
       error = null, failed_at = null, updated_at = ${tx.now()}
     from jsonb_to_recordset(${toRecordset(rows)}::jsonb) as x (id uuid, message_id uuid, address text)
     where r.tenant_id = ${tx.tenantId} and r.id = x.id and ${allowsRecipientSql('start')}
     returning r.id`
  return new Set(started.map(({ id }) => id))
}
