import { raw } from 'objection'
import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import type { Scope } from '../../scope.ts'
import type { Conversation } from './schema.ts'
import { isWindowOpen } from './service-window.ts'

type Row = ConversationRow & Pick<Conversation, 'channel' | 'contact' | 'activeRunId'>

const JOINED = [
  raw(`(select ch.kind from channels ch where ch.tenant_id = conversations.tenant_id
    and ch.id = conversations.channel_id) as channel`),
  raw(`(select json_build_object('id', c.id, 'name', c.name, 'phone', c.phone) from contacts c
    where c.tenant_id = conversations.tenant_id and c.id = conversations.contact_id) as contact`),
  raw(`(select r.id from runs r where r.tenant_id = conversations.tenant_id and r.conversation_id = conversations.id
    and r.status in ('queued', 'running', 'waiting') order by r.id desc limit 1) as active_run_id`),
]

export function conversationQuery(scope: Scope) {
  return scope.query(ConversationRow).select('conversations.*', ...JOINED)
}

export function toConversation(row: ConversationRow, now: Date): Conversation {
  const { automationState, automationReason, automationUntil, lastMessage, ...conversation } = row as Row
  const isPaused = automationState === 'paused' && (automationUntil === null || automationUntil > now)
  return {
    ...conversation,
    lastMessage: lastMessage as Conversation['lastMessage'],
    canSendFreeform: isWindowOpen(conversation.windowExpiresAt, now),
    automation: isPaused
      ? { state: 'paused', reason: automationReason, until: automationUntil }
      : { state: 'on', reason: null, until: null },
  }
}
