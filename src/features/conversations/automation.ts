import type { Conversation as ConversationRow } from '../../models/messaging.ts'
import { toRecordset } from '../../platform/database/sql.ts'
import { type SqlFragment, sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { resumePausedRuns } from '../automation/resume-paused-runs.ts'
import type { Conversation } from './schema.ts'

/**
 * Automation of a conversation is `on`, or `paused` for a reason until a time or until it is resumed. While it is
 * paused, workflows neither start nor send in the conversation.
 */
type AutomationColumns = Pick<ConversationRow, 'automationState' | 'automationReason' | 'automationUntil'>
type PauseReason = NonNullable<ConversationRow['automationReason']>

/** Columns of a conversation whose automation is on. */
export const AUTOMATION_ON: AutomationColumns = {
  automationState: 'on',
  automationReason: null,
  automationUntil: null,
}

/** Columns of a conversation whose automation is paused, for good when `until` is null. */
export function pausedColumns(reason: PauseReason, until: Date | null): AutomationColumns {
  return { automationState: 'paused', automationReason: reason, automationUntil: until }
}

/** True while automation is paused. A pause that has expired counts as over although the row still says `paused`. */
export function isAutomationPaused(
  { automationState, automationUntil }: Omit<AutomationColumns, 'automationReason'>,
  now: Date,
): boolean {
  return automationState === 'paused' && (automationUntil === null || automationUntil > now)
}

/** SQL form of `isAutomationPaused` on a row of `conversations`. */
export function automationPausedSql(now: Date): SqlFragment {
  return sqlFragment`(automation_state = 'paused' and (automation_until is null or automation_until > ${now}))`
}

/** SQL assignments on `conversations` that turn automation on where `condition` holds and keep its state elsewhere. */
export function automationOnSql(condition: string): string {
  return `automation_state = case when ${condition} then 'on' else automation_state end,
    automation_reason = case when ${condition} then null else automation_reason end,
    automation_until = case when ${condition} then null else automation_until end`
}

/** SQL assignments on `conversations` that pause automation after a reply where `condition` holds, until it is resumed. */
export function pausedByReplySql(condition: SqlFragment): SqlFragment {
  return sqlFragment`automation_state = case when ${condition} then 'paused' else automation_state end,
    automation_reason = case when ${condition} then 'human_reply' else automation_reason end,
    automation_until = case when ${condition} then null else automation_until end`
}

/** State of automation as the API shows it. */
export function toAutomation(
  row: AutomationColumns & Pick<ConversationRow, 'handoffReason'>,
  now: Date,
): Conversation['automation'] {
  if (!isAutomationPaused(row, now)) return { state: 'on', reason: null, handoffReason: null, until: null }
  const { automationReason: reason, automationUntil: until } = row
  return { state: 'paused', reason, handoffReason: reason === 'handoff' ? row.handoffReason : null, until }
}

export type Pause = { conversationId: string; reason: string | null; until: string | null }

/** Characters of the reason of a handoff that are kept: conversations are read a hundred at a time. */
const REASON_LENGTH_MAX = 1000

/**
 * Pauses automation for a handoff to people. The last of several pauses of one conversation counts. The caller holds
 * the locks of the conversations.
 */
export async function pauseAutomation(tx: Scope, pauses: Pause[]): Promise<void> {
  if (pauses.length === 0) return
  const last = [...new Map(pauses.map((pause) => [pause.conversationId, pause])).values()].map((pause) => ({
    ...pause,
    reason: pause.reason?.slice(0, REASON_LENGTH_MAX).toWellFormed() ?? null,
  }))
  await tx.sql('pauseAutomation')`
    update conversations cv set automation_state = 'paused', automation_reason = 'handoff', handoff_reason = x.reason,
       automation_until = x.until, updated_at = ${tx.now()}
     from jsonb_to_recordset(${toRecordset(last)}::jsonb) as x (conversation_id uuid, reason text, until timestamptz)
     where cv.tenant_id = ${tx.tenantId} and cv.id = x.conversation_id`
  await tx.record(
    ...last.map(({ conversationId }) => ({
      type: 'conversation.automation_paused' as const,
      data: { conversationId },
    })),
  )
}

/** Turns automation on and lets paused runs continue at once. The caller holds the locks of the conversations. */
export async function resumeAutomation(tx: Scope, conversationIds: string[]): Promise<void> {
  if (conversationIds.length === 0) return
  await tx.sql('resumeAutomation')`
    update conversations set ${sqlText(automationOnSql('true'))}, updated_at = ${tx.now()}
     where tenant_id = ${tx.tenantId} and id = any(${conversationIds})`
  await resumePausedRuns(tx, conversationIds)
  await tx.record(
    ...conversationIds.map((conversationId) => ({
      type: 'conversation.automation_resumed' as const,
      data: { conversationId },
    })),
  )
}
