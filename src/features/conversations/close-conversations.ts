import type { Scope } from '../../scope.ts'
import { raiseEvents } from '../automation/raise-events.ts'
import { resumePausedRuns } from '../automation/resume-paused-runs.ts'

/** `isLeftToPeople`: automation was paused after the close, and stays so. */
export type Close = {
  conversationId: string
  isLeftToPeople: boolean
  /** How many runs stand between the close and what a person or the outside did. */
  depth: number
}

/** Closing hands a conversation back to automation. One that is closed already stays as it is. The caller holds their locks. */
export async function closeConversations(tx: Scope, closes: Close[]): Promise<void> {
  if (closes.length === 0) return
  const last = [...new Map(closes.map((close) => [close.conversationId, close])).values()]
  const { rows } = await tx.db.raw<{ rows: { conversationId: string; contactId: string }[] }>(
    `update conversations cv set status = 'closed', closed_at = :now, snoozed_until = null, updated_at = :now,
       automation_state = case when x."isLeftToPeople" then automation_state else 'on' end,
       automation_reason = case when x."isLeftToPeople" then automation_reason end,
       automation_until = case when x."isLeftToPeople" then automation_until end
     from jsonb_to_recordset(:given::jsonb) as x ("conversationId" uuid, "isLeftToPeople" boolean)
     where cv.tenant_id = :tenantId and cv.id = x."conversationId" and cv.status <> 'closed'
     returning cv.id as "conversationId", cv.contact_id as "contactId"`,
    { given: JSON.stringify(last), tenantId: tx.tenantId, now: tx.now() },
  )
  await tx.record(...rows.map((data) => ({ type: 'conversation.closed' as const, data })))
  await resumePausedRuns(
    tx,
    last.flatMap(({ conversationId, isLeftToPeople }) => (isLeftToPeople ? [] : [conversationId])),
  )
  const depths = new Map(last.map(({ conversationId, depth }) => [conversationId, depth]))
  await raiseEvents(
    tx,
    rows.map(({ conversationId, contactId }) => ({
      contactId,
      conversationId,
      event: { type: 'conversation_closed' as const },
      depth: depths.get(conversationId) ?? 0,
    })),
  )
}
