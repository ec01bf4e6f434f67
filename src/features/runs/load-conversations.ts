import type { Conversation } from '../../engine/conversation-turn.ts'
import type { Scope } from '../../scope.ts'

type Row = Omit<Conversation, 'isPaused'> & {
  automationState: 'on' | 'paused'
  automationUntil: Date | null
  lastInboundAt: Date | null
  windowExpiresAt: Date | null
}

const CONTACT = `jsonb_build_object('id', c.id, 'name', c.name, 'phone', c.phone, 'email', c.email,
  'language', c.language, 'country', c.country, 'timezone', c.timezone, 'fields', c.fields, 'blocked', c.blocked,
  'consent', jsonb_build_object('marketing', c.marketing_consent),
  'tags', coalesce((select jsonb_agg(t.name order by lower(t.name)) from contact_tags ct
    join tags t on t.tenant_id = ct.tenant_id and t.id = ct.tag_id
    where ct.tenant_id = c.tenant_id and ct.contact_id = c.id), '[]'),
  'groupIds', coalesce((select jsonb_agg(gc.group_id) from group_contacts gc
    where gc.tenant_id = c.tenant_id and gc.contact_id = c.id), '[]'))`

/** All of a batch in one statement, after their locks are taken. */
export async function loadConversations(tx: Scope, conversationIds: string[]): Promise<Map<string, Conversation>> {
  const { rows } = await tx.db.raw<{ rows: Row[] }>(
    `select cv.id as "conversationId", cv.channel_id as "channelId", cv.contact_id as "contactId",
       cv.automation_state as "automationState", cv.automation_until as "automationUntil", ${CONTACT} as contact,
       jsonb_build_object('id', cv.id, 'status', cv.status, 'channel', ch.kind, 'channelId', cv.channel_id,
         'assigneeId', cv.assignee_id, 'unreadCount', cv.unread_count, 'lastMessageId', cv.last_message ->> 'id') as conversation,
       jsonb_build_object('id', w.id, 'name', w.name, 'timezone', w.timezone) as workspace,
       cv.last_inbound_at as "lastInboundAt", cv.window_expires_at as "windowExpiresAt"
     from conversations cv
     join contacts c on c.tenant_id = cv.tenant_id and c.id = cv.contact_id
     join channels ch on ch.tenant_id = cv.tenant_id and ch.id = cv.channel_id
     join workspaces w on w.id = cv.tenant_id
     where cv.tenant_id = ? and cv.id = any(?)`,
    [tx.tenantId, conversationIds],
  )
  return new Map(rows.map((row) => [row.conversationId, present(row, tx.now())]))
}

function present(row: Row, now: Date): Conversation {
  const { automationState, automationUntil, lastInboundAt, windowExpiresAt, ...loaded } = row
  return {
    ...loaded,
    isPaused: automationState === 'paused' && (automationUntil === null || automationUntil > now),
    conversation: {
      ...loaded.conversation,
      lastInboundAt: lastInboundAt?.toISOString() ?? null,
      windowExpiresAt: windowExpiresAt?.toISOString() ?? null,
      canSendFreeform: windowExpiresAt !== null && now < windowExpiresAt,
    },
  }
}
