import type { Scope } from '../../scope.ts'
import { resumePausedRuns } from '../automation/resume-paused-runs.ts'

export type Pause = { conversationId: string; until: string | null }

/** Workflows leave these conversations to people. The caller holds their locks. */
export async function pauseAutomation(tx: Scope, pauses: Pause[]): Promise<void> {
  if (pauses.length === 0) return
  const now = tx.now()
  const last = [...new Map(pauses.map((pause) => [pause.conversationId, pause])).values()]
  await tx.db.raw(
    `update conversations cv set automation_state = 'paused', automation_reason = 'handoff', automation_until = x.until, updated_at = :now
     from jsonb_to_recordset(:given::jsonb) as x ("conversationId" uuid, until timestamptz)
     where cv.tenant_id = :tenantId and cv.id = x."conversationId"`,
    { given: JSON.stringify(last), tenantId: tx.tenantId, now },
  )
  await tx.record(
    ...last.map(({ conversationId }) => ({
      type: 'conversation.automation_paused' as const,
      data: { conversationId },
    })),
  )
}

/** Workflows may speak again in these conversations. The caller holds their locks. */
export async function resumeAutomation(tx: Scope, conversationIds: string[]): Promise<void> {
  if (conversationIds.length === 0) return
  await tx
    .db('conversations')
    .where('tenant_id', tx.tenantId)
    .whereRaw('id = any(?)', [conversationIds])
    .update({ automation_state: 'on', automation_reason: null, automation_until: null, updated_at: tx.now() })
  await resumePausedRuns(tx, conversationIds)
  await tx.record(
    ...conversationIds.map((conversationId) => ({
      type: 'conversation.automation_resumed' as const,
      data: { conversationId },
    })),
  )
}
