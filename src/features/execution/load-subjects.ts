import type { Mailbox } from '../../engine/model/mailbox-key.ts'
import type { Subject } from '../../engine/model/subject.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import { selectRows } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import { CONTACT_FACTS_SQL, WORKSPACE_FACTS_SQL } from '../contacts/contact-facts.ts'

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
  const rows = await selectRows<ConversationRow>(
    tx.db,
    `select cv.id as conversation_id, cv.contact_id, cv.automation_state, cv.automation_reason, cv.automation_until,
       c.blocked as is_blocked, ${CONTACT_FACTS_SQL} as contact,
       jsonb_build_object('id', cv.id, 'status', cv.status, 'channel', ch.kind, 'channelId', cv.channel_id,
         'assigneeId', cv.assignee_id, 'unreadCount', cv.unread_count, 'lastMessageId', cv.last_message ->> 'id') as conversation,
       ${WORKSPACE_FACTS_SQL} as workspace, cv.last_inbound_at, cv.window_expires_at
     from conversations cv
     join contacts c on c.tenant_id = cv.tenant_id and c.id = cv.contact_id
     join channels ch on ch.tenant_id = cv.tenant_id and ch.id = cv.channel_id
     join workspaces w on w.id = cv.tenant_id
     where cv.tenant_id = ? and cv.id = any(?)`,
    [tx.tenantId, ids],
  )
  return rows.map((row) => toSubject(row, tx.now()))
}

function toSubject(row: ConversationRow, now: Date): Subject {
  const { automationState, automationReason, automationUntil, lastInboundAt, windowExpiresAt, ...loaded } = row
  return {
    ...loaded,
    mailbox: { kind: 'conversation', id: loaded.conversationId },
    isPausedByReply: automationReason === 'human_reply',
    isPaused: automationState === 'paused' && (automationUntil === null || automationUntil > now),
    conversation: {
      ...loaded.conversation,
      lastInboundAt: lastInboundAt?.toISOString() ?? null,
      windowExpiresAt: windowExpiresAt?.toISOString() ?? null,
      canSendFreeform: windowExpiresAt !== null && now < windowExpiresAt,
    },
  }
}

const NO_CONVERSATION = { conversationId: null, conversation: null, isPaused: false, isPausedByReply: false }

async function loadContacts(tx: Scope, ids: string[]): Promise<Subject[]> {
  const rows = await selectRows<{ contactId: string; isBlocked: boolean; contact: JsonObject; workspace: JsonObject }>(
    tx.db,
    `select c.id as contact_id, c.blocked as is_blocked, ${CONTACT_FACTS_SQL} as contact, ${WORKSPACE_FACTS_SQL} as workspace
     from contacts c join workspaces w on w.id = c.tenant_id where c.tenant_id = ? and c.id = any(?)`,
    [tx.tenantId, ids],
  )
  return rows.map((row) => ({ ...NO_CONVERSATION, ...row, mailbox: { kind: 'contact', id: row.contactId } }))
}

async function loadRuns(tx: Scope, ids: string[]): Promise<Subject[]> {
  const rows = await selectRows<{ id: string; workspace: JsonObject }>(
    tx.db,
    `select r.id, ${WORKSPACE_FACTS_SQL} as workspace from runs r join workspaces w on w.id = r.tenant_id
     where r.tenant_id = ? and r.id = any(?)`,
    [tx.tenantId, ids],
  )
  return rows.map(({ id, workspace }) => ({
    ...NO_CONVERSATION,
    workspace,
    contactId: null,
    contact: null,
    isBlocked: false,
    mailbox: { kind: 'run', id },
  }))
}
