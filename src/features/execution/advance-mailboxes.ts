import { advanceJob } from '../automation/jobs.ts'
import { advance } from '../../engine/mailbox/advance.ts'
import type { SystemScope } from '../../scope.ts'
import { enginePort } from './engine-port.ts'

/** Processes due mailbox items. Repeated and concurrent runs are safe: mailboxes are locked, and an item is handled once. */
export async function advanceMailboxes(system: SystemScope, { tenantId }: Record<string, string>): Promise<void> {
  if (!tenantId) throw new TypeError('the job payload has no tenantId')
  const isMoreDue = await advance(enginePort(system), system.db, system, tenantId)
  if (isMoreDue) await system.enqueue(advanceJob(tenantId))
}
