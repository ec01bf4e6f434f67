import type { MailboxKind } from '../../engine/model/mailbox-key.ts'
import { advanceJob } from './jobs.ts'
import { putItems } from './store/mailbox-store.ts'
import { newId } from '../../platform/ids.ts'
import type { SystemScope } from '../../scope.ts'

const BATCH = 500

/**
 * Puts what is due into the mailboxes and rings. A row is taken once, by whichever process is first; a wait that ended
 * in the meantime is told by its epoch, and nothing happens.
 */
export async function fireDueTimers(system: SystemScope): Promise<number> {
  let woken = 0
  for (let batch = BATCH; batch === BATCH; woken += batch) batch = await wakeBatch(system)
  return woken
}

type Due = { tenantId: string; mailboxKind: MailboxKind; mailboxId: string; runId: string; epoch: number }

function wakeBatch(system: SystemScope): Promise<number> {
  return system.transaction(async (tx) => {
    const now = tx.now()
    const { rows } = await tx.db.raw<{ rows: Due[] }>(
      `update run_waits set due_at = null where (tenant_id, run_id) in (
         select tenant_id, run_id from run_waits where due_at <= ?
         order by due_at limit ? for update skip locked)
       returning tenant_id as "tenantId", mailbox_kind as "mailboxKind", mailbox_id as "mailboxId", run_id as "runId", epoch`,
      [now, BATCH],
    )
    const byTenant = new Map<string, Due[]>()
    for (const due of rows) byTenant.set(due.tenantId, [...(byTenant.get(due.tenantId) ?? []), due])
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
    return rows.length
  })
}
