import type { Mailbox } from '../../engine/model/mailbox-key.ts'
import type { Subject } from '../../engine/model/subject.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import type { Scope } from '../../scope/scope.ts'
import { isAutomationPaused } from '../conversations/automation.ts'
import { isWindowOpen } from '../conversations/service-window.ts'
import { contactFactsSql, WORKSPACE_FACTS_SQL } from '../contacts/contact-facts.ts'

type ConversationRow = Omit<Subject, 'isPaused' | 'isPausedByReply' | 'mailbox'> & {
  conversationId: string
  conversation: JsonObject
  automationState: 'on' | 'paused'
  automationReason: string | null
  automationUntil: Date | null
  lastInboundAt: Date | null
  windowExpiresAt: Date | null
}

/** Loads the subjects of locked mailboxes, in one statement for each kind of mailbox. */
export async function loadSubjects(tx: Scope, mailboxes: Mailbox[]): Promise<Subject[]> {
  const idsByKind = (kind: Mailbox['kind']) => mailboxes.filter((mailbox) => mailbox.kind === kind).map(({ id }) => id)
  const [conversations, contacts, runs] = [idsByKind('conversation'), idsByKind('contact'), idsByKind('run')]
  return [
    ...(conversations.length > 0 ? await loadConversations(tx, conversations) : []),
    ...(contacts.length > 0 ? await loadContacts(tx, contacts) : []),
    ...(runs.length > 0 ? await loadRuns(tx, runs) : []),
  ]
}

async function loadConversations(tx: Scope, ids: string[]): Promise<Subject[]> {
  const rows = await tx.sql<ConversationRow>('loadConversations')`
    select cv.id as conversation_id, cv.contact_id, cv.automation_state, cv.automation_reason, cv.automation_until,
       c.blocked as is_blocked, ${contactFactsSql(tx.tenantId)} as contact,
       jsonb_build_object('id', cv.id, 'status', cv.status, 'channel', ch.kind, 'channelId', cv.channel_id,
         'assigneeId', cv.assignee_id, 'unreadCount', cv.unread_count, 'lastMessageId', cv.last_message ->> 'id') as conversation,
       ${WORKSPACE_FACTS_SQL} as workspace, cv.last_inbound_at, cv.window_expires_at
     from conversations cv
     join contacts c on c.tenant_id = ${tx.tenantId} and c.id = cv.contact_id
     join channels ch on ch.tenant_id = ${tx.tenantId} and ch.id = cv.channel_id
     join workspaces w on w.id = ${tx.tenantId}
     where cv.tenant_id = ${tx.tenantId} and cv.id = any(${ids})`
  return rows.map((row) => toSubject(row, tx.now()))
}

function toSubject(row: ConversationRow, now: Date): Subject {
  const { automationState, automationReason, automationUntil, lastInboundAt, windowExpiresAt, ...loaded } = row
  return {
    ...loaded,
    mailbox: { kind: 'conversation', id: loaded.conversationId },
    isPausedByReply: automationReason === 'human_reply',
    isPaused: isAutomationPaused({ automationState, automationUntil }, now),
    conversation: {
      ...loaded.conversation,
      lastInboundAt: lastInboundAt?.toISOString() ?? null,
      windowExpiresAt: windowExpiresAt?.toISOString() ?? null,
      canSendFreeform: isWindowOpen(windowExpiresAt, now),
    },
  }
}

const NO_CONVERSATION = { conversationId: null, conversation: null, isPaused: false, isPausedByReply: false }

async function loadContacts(tx: Scope, ids: string[]): Promise<Subject[]> {
  const rows = await tx.sql<{ contactId: string; isBlocked: boolean; contact: JsonObject; workspace: JsonObject }>(
    'loadContacts',
  )`
      select c.id as contact_id, c.blocked as is_blocked, ${contactFactsSql(tx.tenantId)} as contact, ${WORKSPACE_FACTS_SQL} as workspace
     from contacts c join workspaces w on w.id = ${tx.tenantId} where c.tenant_id = ${tx.tenantId} and c.id = any(${ids})`
  return rows.map((row) => ({ ...NO_CONVERSATION, ...row, mailbox: { kind: 'contact', id: row.contactId } }))
}

async function loadRuns(tx: Scope, ids: string[]): Promise<Subject[]> {
  const rows = await tx.sql<{ id: string; workspace: JsonObject }>('loadRuns')`
    select r.id, ${WORKSPACE_FACTS_SQL} as workspace from runs r join workspaces w on w.id = ${tx.tenantId}
     where r.tenant_id = ${tx.tenantId} and r.id = any(${ids})`
  return rows.map(({ id, workspace }) => ({
    ...NO_CONVERSATION,
    workspace,
    contactId: null,
    contact: null,
    isBlocked: false,
    mailbox: { kind: 'run', id },
  }))
}
