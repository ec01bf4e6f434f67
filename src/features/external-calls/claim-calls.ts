import { type Mailbox, toMailbox } from '../../engine/model/mailbox-key.ts'
import { addMs, MINUTE } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import type { NewCall } from './request-calls.ts'

/** How long a performer has; whoever is silent for longer is taken for dead, and somebody else does it again. */
export const LEASE_MS = 3 * MINUTE

export type ClaimedCall = NewCall & {
  mailbox: Mailbox
  contactId: string | null
  conversationId: string | null
  /** How often somebody began to do it, this time included: whoever settles must be the last who did. */
  claimCount: number
}

type Row = Omit<ClaimedCall, 'mailbox'> & { mailboxRunId: string | null }

/** The same whenever the same execution of a step is tried again: a receiver that knows it does nothing twice. */
export function idempotencyKey({ runId, stepIndex }: ClaimedCall): string {
  return `${runId}:${stepIndex}`
}

/**
 * Takes what is due, the longest waiting first. What belongs to a run that waits for something else by now, or for
 * nothing, is dropped: nobody would take its result.
 */
export async function claimCalls(scope: Scope, limit: number): Promise<ClaimedCall[]> {
  const now = scope.now()
  const { rows } = await scope.db.raw<{ rows: Row[] }>(
    `with due as (
       select e.run_id, e.step_index, e.attempt, r.contact_id, r.conversation_id, r.mailbox_run_id,
         r.status = 'waiting' and r.epoch = e.epoch as is_wanted
       from external_calls e join runs r on r.tenant_id = e.tenant_id and r.id = e.run_id
       where e.tenant_id = :tenantId and e.due_at <= :now
       order by e.due_at, e.run_id, e.step_index limit :limit for update of e skip locked),
     dropped as (
       delete from external_calls e using due where e.tenant_id = :tenantId and e.run_id = due.run_id
         and e.step_index = due.step_index and e.attempt = due.attempt and not due.is_wanted)
     update external_calls e set due_at = :until, claim_count = e.claim_count + 1 from due
     where e.tenant_id = :tenantId and e.run_id = due.run_id and e.step_index = due.step_index
       and e.attempt = due.attempt and due.is_wanted
     returning e.run_id as "runId", due.contact_id as "contactId", due.conversation_id as "conversationId", due.mailbox_run_id as "mailboxRunId",
       e.step_id as "stepId", e.step_index as "stepIndex", e.attempt, e.epoch, e.claim_count as "claimCount",
       e.timeout_ms as "timeoutMs", e.request`,
    { tenantId: scope.tenantId, now, until: addMs(now, LEASE_MS), limit },
  )
  return rows.map(({ mailboxRunId, ...row }) => ({
    ...row,
    mailbox: toMailbox({ ...row, id: row.runId, mailboxRunId }),
  }))
}
