import type { MailboxKind } from '../../engine/model/mailbox-key.ts'
import { selectRows } from '../../platform/database/sql.ts'
import { newId } from '../../platform/ids.ts'
import type { SystemScope } from '../../scope.ts'
import { advanceJob } from './jobs.ts'
import { putItems } from './store/mailbox-store.ts'

const BATCH = 500

/**
 * Puts a timer item into the mailbox of every run whose wait is due, and enqueues processing. Each wait is taken by one
 * process; the item of a wait that has ended in the meantime has an old epoch and does nothing. Returns the number of
 * timers fired.
 */
export async function fireDueTimers(system: SystemScope): Promise<number> {
  let fired = 0
  for (let batch = BATCH; batch === BATCH; fired += batch) batch = await fireBatch(system)
  return fired
}

type Timer = { tenantId: string; mailboxKind: MailboxKind; mailboxId: string; runId: string; epoch: number }

function fireBatch(system: SystemScope): Promise<number> {
  return system.transaction(async (tx) => {
    const now = tx.now()
    const timers = await selectRows<Timer>(
      tx.db,
      `update run_waits set due_at = null where (tenant_id, run_id) in (
         select tenant_id, run_id from run_waits where due_at <= ?
         order by due_at limit ? for update skip locked)
       returning tenant_id, mailbox_kind, mailbox_id, run_id, epoch`,
      [now, BATCH],
    )
    const byTenant = new Map<string, Timer[]>()
    for (const timer of timers) byTenant.set(timer.tenantId, [...(byTenant.get(timer.tenantId) ?? []), timer])
    for (const [tenantId, due] of byTenant) {
      const items = due.map(({ mailboxKind, mailboxId, runId, epoch }) => ({
        id: newId(),
        mailbox: { kind: mailboxKind, id: mailboxId },
        kind: 'timer' as const,
        payload: { runId, epoch },
      }))
      await putItems({ tenantId, db: tx.db, now: () => now }, items)
    }
    await tx.enqueue(...[...byTenant.keys()].map(advanceJob))
    return timers.length
  })
}
