import { advanceJob } from '../automation/jobs.ts'
import { advance } from '../../engine/mailbox/advance.ts'
import type { SystemScope } from '../../scope.ts'
import { enginePort } from './engine-port.ts'

/** Running twice, or at once in two processes, is safe: a mailbox is locked, and its mail is taken once. */
export async function advanceMailboxes(system: SystemScope, { tenantId }: Record<string, string>): Promise<void> {
  if (!tenantId) throw new TypeError('the bell names no tenant')
  const isMoreDue = await advance(enginePort(system), system.db, system, tenantId)
  if (isMoreDue) await system.enqueue(advanceJob(tenantId))
}
