import type { EvaluatedEvent } from '../../engine/model/evaluation.ts'
import type { Scope } from '../../scope.ts'

/** Stores evaluations, in one insert for a batch. An event that is processed again after a rollback is stored once. */
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
