import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import type { Job } from '../../platform/jobs/job-queue.ts'
import { addMs, SECOND } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'

/**
 * Delay after which due work is offered to all workers: the process that it was handed to has ended, or has more to do than
 * it can.
 */
export const OVERDUE_MS = 2 * SECOND

/** Job that processes the due mailbox items of a tenant. */
export function advanceJob(tenantId: string): Job {
  return { task: 'advance', tenantId, key: tenantId }
}

/** Job that sends the due messages of a channel. */
export function deliverJob(tenantId: string, channelId: string): Job {
  return { task: 'deliver', tenantId, key: channelId }
}

/** Job that prepares, sends and cancels the broadcasts of a channel. */
export function broadcastJob(tenantId: string, channelId: string): Job {
  return { task: 'broadcast', tenantId, key: channelId }
}

/** Job that reports the customer's newest message as read to the provider. */
export function readReceiptJob(tenantId: string, conversationId: string): Job {
  return { task: 'send-read-receipt', tenantId, key: conversationId }
}

/** Job that does the same, and shows the customer that somebody is typing. */
export function typingJob(tenantId: string, conversationId: string): Job {
  return { task: 'show-typing', tenantId, key: conversationId }
}

/** Job that works on the jobs of the API of a tenant: on the urgent ones, or on the others. */
export function jobsWakeup(tenantId: string, isUrgent: boolean): Job {
  return { task: isUrgent ? 'run-urgent-jobs' : 'run-jobs', tenantId, key: tenantId }
}

/** Job that executes the due external calls of a tenant. */
export function executeJob(tenantId: string): Job {
  return { task: 'execute', tenantId, key: tenantId }
}

/** Selects the items that are due by a time. The age counts, as what is due at once has a due time long ago. */
export function dueItemsSql(before: Date): SqlFragment {
  return sqlFragment`select tenant_id from mailbox_items where due_at <= ${before} and created_at <= ${before}`
}

/**
 * Enqueues processing for every tenant with a mailbox item that has been due for `overdueMs`, so that a lost job delays
 * items but loses none.
 */
export async function enqueueDueMailboxes(system: SystemScope, overdueMs = 0): Promise<void> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('listTenantsWithDueItems')`
    select distinct tenant_id from (${dueItemsSql(addMs(system.now(), -overdueMs))}) due`
  system.enqueue(...tenants.map(({ tenantId }) => advanceJob(tenantId)))
}
