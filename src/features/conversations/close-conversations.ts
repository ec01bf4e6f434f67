import { toRecordset } from '../../platform/database/sql.ts'
import { sqlText } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { emitEvents } from '../automation/emit-events.ts'
import { resumePausedRuns } from '../automation/resume-paused-runs.ts'
import { automationOnSql } from './automation.ts'

export type Close = {
  conversationId: string
  /** True when automation was paused after the close: it stays paused. */
  keepPaused: boolean
  /** Number of runs between the close and the action of a person or external system that caused it. */
  depth: number
}

/**
 * Closes conversations and turns their automation on. One that is closed already stays as it is. The caller holds the
 * locks of the conversations.
 */
export async function closeConversations(tx: Scope, closes: Close[]): Promise<void> {
  if (closes.length === 0) return
  const last = [...new Map(closes.map((close) => [close.conversationId, close])).values()]
  const now = tx.now()
  const closed = await tx.sql<{ conversationId: string; contactId: string }>('closeConversations')`
    update conversations cv set status = 'closed', closed_at = ${now}, snoozed_until = null, updated_at = ${now},
       ${sqlText(automationOnSql('not x.keep_paused'))}
     from jsonb_to_recordset(${toRecordset(last)}::jsonb) as x (conversation_id uuid, keep_paused boolean)
     where cv.tenant_id = ${tx.tenantId} and cv.id = x.conversation_id and cv.status <> 'closed'
     returning cv.id as conversation_id, cv.contact_id`
  await tx.record(...closed.map((data) => ({ type: 'conversation.closed' as const, data })))
  await resumePausedRuns(
    tx,
    last.flatMap(({ conversationId, keepPaused }) => (keepPaused ? [] : [conversationId])),
  )
  const depths = new Map(last.map(({ conversationId, depth }) => [conversationId, depth]))
  await emitEvents(
    tx,
    closed.map(({ conversationId, contactId }) => ({
      contactId,
      conversationId,
      event: { type: 'conversation_closed' as const },
      depth: depths.get(conversationId) ?? 0,
    })),
  )
}
