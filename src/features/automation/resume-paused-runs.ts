import { DUE_AT_ONCE } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { advanceJob } from './jobs.ts'

/** Makes the items and waits that a pause of automation delayed in these conversations due now. */
export async function resumePausedRuns(tx: Scope, conversationIds: string[]): Promise<void> {
  if (conversationIds.length === 0) return
  const bindings = { tenantId: tx.tenantId, now: tx.now(), dueAt: DUE_AT_ONCE, conversationIds }
  // An item that waits for another attempt after a failure keeps its time, and those behind it wait for it.
  await tx.db.raw(
    `update mailbox_items set due_at = :dueAt where tenant_id = :tenantId and mailbox_id = any(:conversationIds)
       and due_at > :now and (retry_at is null or retry_at <= :now)`,
    bindings,
  )
  await tx.db.raw(
    `update run_waits w set due_at = :dueAt from runs r
     where w.tenant_id = :tenantId and w.mailbox_id = any(:conversationIds) and w.due_at > :now
       and r.tenant_id = w.tenant_id and r.id = w.run_id
       and (r.waiting_until <= :now or (r.status = 'queued' and r.state -> 'debouncing' = 'null'))`,
    bindings,
  )
  await tx.enqueue(advanceJob(tx.tenantId))
}
