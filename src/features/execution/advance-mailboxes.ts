import { advance } from '../../engine/mailbox/advance.ts'
import type { Job, JobControl } from '../../platform/jobs/job-queue.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { advanceJob } from '../automation/jobs.ts'
import { enginePort } from './engine-port.ts'

/** Advances a tenant's mailboxes. Safe to run in parallel: a mailbox is locked, and its items are claimed once. */
export async function advanceMailboxes(
  system: SystemScope,
  { tenantId }: Pick<Job, 'tenantId'>,
  control?: JobControl,
): Promise<void> {
  const isMoreDue = await advance(enginePort(system, control), tenantId)
  if (isMoreDue) system.enqueue(advanceJob(tenantId))
}
