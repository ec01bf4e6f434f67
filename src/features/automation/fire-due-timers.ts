import type { MailboxKind } from '../../engine/model/mailbox-key.ts'
import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { newId } from '../../platform/ids.ts'
import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import { metrics, observe } from '../../platform/metrics.ts'
import { isOpenSql } from '../../scope/deleted-workspaces.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { advanceJob } from './jobs.ts'
import { putItems } from './store/mailbox-store.ts'

const BATCH = 500

export function dueTimersSql(before: Date): SqlFragment {
  return sqlFragment`select tenant_id from run_waits where due_at <= ${before}`
}

/**
 * Puts a timer item into the mailbox of every run whose wait is due, and enqueues processing. Each wait is taken by one
 * process; the item of a wait that has ended in the meantime has an old epoch and does nothing. Returns the number of
 * timers fired.
 */
export async function fireDueTimers(system: SystemScope): Promise<number> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('listTenantsWithDueTimers')`
    select distinct tenant_id from (${dueTimersSql(system.now())}) due`
  let fired = 0
  await forEachTenant(tenants, { log: system.log, task: 'fire due timers' }, async (tenantId) => {
    for (let batch = BATCH; batch === BATCH; fired += batch) {
      batch = await system.forTenant(tenantId).transaction(fireBatch)
    }
  })
  return fired
}

type Timer = { dueAt: Date; mailboxKind: MailboxKind; mailboxId: string; runId: string; epoch: number }

async function fireBatch(tx: Scope): Promise<number> {
  const due = await tx.sql<Timer>('takeDueTimers')`
    update run_waits w set due_at = null from (
      select run_id, due_at from run_waits where tenant_id = ${tx.tenantId} and due_at <= ${tx.now()}
        and ${isOpenSql(tx.tenantId)}
      order by due_at limit ${BATCH} for update skip locked) due
    where w.tenant_id = ${tx.tenantId} and w.run_id = due.run_id
    returning w.mailbox_kind, w.mailbox_id, w.run_id, w.epoch, due.due_at`
  if (due.length === 0) return 0
  for (const { dueAt } of due) observe(metrics.timersLag, {}, tx.now().getTime() - dueAt.getTime())
  await putItems(
    tx,
    due.map(({ mailboxKind, mailboxId, runId, epoch }) => ({
      id: newId(),
      mailbox: { kind: mailboxKind, id: mailboxId },
      kind: 'timer',
      payload: { runId, epoch },
    })),
  )
  tx.enqueue(advanceJob(tx.tenantId))
  return due.length
}
