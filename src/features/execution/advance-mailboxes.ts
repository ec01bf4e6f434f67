import { advance } from '../../engine/mailbox/advance.ts'
import type { JobControl } from '../../platform/jobs/job-queue.ts'
import type { SystemScope } from '../../scope.ts'
import { advanceJob } from '../automation/jobs.ts'
import { enginePort } from './engine-port.ts'

/** Advances a tenant's mailboxes. Safe to run in parallel: a mailbox is locked, and its items are claimed once. */
export async function advanceMailboxes(
  system: SystemScope,
  { tenantId }: Record<string, string>,
  control?: JobControl,
): Promise<void> {
  if (!tenantId) throw new TypeError('the job has no tenant')
  const isMoreDue = await advance(enginePort(system, control), tenantId)
  if (isMoreDue) await system.enqueue(advanceJob(tenantId))
}
