import { DUE_AT_ONCE } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { advanceJob } from './jobs.ts'

/** Makes the items and waits that a pause of automation delayed in these conversations due now. */
export async function resumePausedRuns(tx: Scope, conversationIds: string[]): Promise<void> {
  if (conversationIds.length === 0) return
  const now = tx.now()
  // An item that waits for another attempt after a failure keeps its time, and those behind it wait for it.
  await tx.sql('resumeItems')`
    update mailbox_items set due_at = ${DUE_AT_ONCE}
    where tenant_id = ${tx.tenantId} and mailbox_id = any(${conversationIds})
      and due_at > ${now} and (retry_at is null or retry_at <= ${now})`
  await tx.sql('resumeWaits')`
    update run_waits w set due_at = ${DUE_AT_ONCE} from runs r
    where w.tenant_id = ${tx.tenantId} and w.mailbox_id = any(${conversationIds}) and w.due_at > ${now}
      and r.tenant_id = ${tx.tenantId} and r.id = w.run_id
      and (r.waiting_until <= ${now} or (r.status = 'queued' and r.state -> 'debouncing' = 'null'))`
  tx.enqueue(advanceJob(tx.tenantId))
}
