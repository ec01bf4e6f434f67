import type { EvaluatedEvent } from '../../engine/model/evaluation.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import type { Scope } from '../../scope.ts'

/** Stores evaluations, in one insert for a batch. An event that is processed again after a rollback is stored once. */
export async function recordEvaluations(tx: Scope, events: EvaluatedEvent[]): Promise<void> {
  const rows = events
    .filter(({ evaluations }) => evaluations.length > 0)
    .map(({ id, contactId, conversationId, event, evaluations }) => ({
      id,
      contact_id: contactId,
      conversation_id: conversationId,
      event,
      evaluations,
      created_at: tx.now(),
    }))
  if (rows.length === 0) return
  await tx.sql('recordEvaluations')`
    ${insertRowsSql('trigger_evaluations', tx.tenantId, rows)} on conflict (tenant_id, id) do nothing`
}
