import type { Scope } from '../../scope.ts'

/** Why a published workflow with a trigger for an event was not started by it. */
export type Outcome =
  | 'no_match'
  | 'condition_not_met'
  | 'already_running'
  | 'automation_paused'
  | 'reply_taken'
  | 'command_first'
  | 'too_deep'

export type Evaluation = { workflowId: string; version: number; outcome: Outcome; detail: string | null }

export type EvaluatedEvent = {
  id: string
  contactId: string | null
  conversationId: string | null
  event: { type: string; messageId: string | null; name: string | null }
  evaluations: Evaluation[]
}

/** One insert for a batch. An event that is taken again, after a rollback, is written down once. */
export async function recordEvaluations(tx: Scope, events: EvaluatedEvent[]): Promise<void> {
  const rows = events
    .filter(({ evaluations }) => evaluations.length > 0)
    .map(({ id, contactId, conversationId, event, evaluations }) => ({
      tenant_id: tx.tenantId,
      id,
      contact_id: contactId,
      conversation_id: conversationId,
      event,
      evaluations,
      created_at: tx.now(),
    }))
  if (rows.length === 0) return
  await tx.db.raw(
    `insert into trigger_evaluations select * from jsonb_populate_recordset(null::trigger_evaluations, ?::jsonb)
     on conflict (tenant_id, id) do nothing`,
    [JSON.stringify(rows)],
  )
}
