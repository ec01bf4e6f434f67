import type { EvaluatedEvent, Evaluation } from '../../engine/model/evaluation.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import type { Scope } from '../../scope.ts'

/** Reasons that are kept for an event: a workspace with 1,000 workflows would write 40 kB for each message. */
export const REASONS_MAX = 100

/** Stores evaluations, in one insert for a batch. An event that is processed again after a rollback is stored once. */
export async function recordEvaluations(tx: Scope, events: EvaluatedEvent[]): Promise<void> {
  const rows = events
    .filter(({ evaluations }) => evaluations.length > 0)
    .map(({ id, contactId, conversationId, event, evaluations }) => ({
      id,
      contact_id: contactId,
      conversation_id: conversationId,
      event,
      evaluations: selectReasons(evaluations),
      created_at: tx.now(),
    }))
  if (rows.length === 0) return
  await tx.sql('recordEvaluations')`
    ${insertRowsSql('trigger_evaluations', tx.tenantId, rows)} on conflict (tenant_id, id) do nothing`
}

/** Prefers the workflows that matched but were not started; few people ask about the others. */
function selectReasons(evaluations: Evaluation[]): Evaluation[] {
  if (evaluations.length <= REASONS_MAX) return evaluations
  const isMismatch = ({ outcome }: Evaluation) => outcome === 'no_match'
  const ordered = evaluations.toSorted((a, b) => Number(isMismatch(a)) - Number(isMismatch(b)))
  return ordered.slice(0, REASONS_MAX)
}
