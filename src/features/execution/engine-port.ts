import type { EngineHost } from '../../engine/mailbox/advance.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { stepTypes } from '../../steps/index.ts'
import { applyAdvance } from './apply-advance.ts'
import { loadMessages } from './load-messages.ts'
import { loadParties } from './load-subjects.ts'
import { listPublished, loadWorkflows } from '../automation/published-workflows.ts'

/** What the engine needs to settle items in a transaction that is already open. */
export const turnHost = {
  registry: stepTypes,
  newId,
  loadParties,
  loadMessages,
  listPublished,
  loadWorkflows,
  apply: applyAdvance,
}

export function engineHost(system: SystemScope): EngineHost<Scope> {
  return {
    ...turnHost,
    transaction: (tenantId, work) => system.forTenant(tenantId).transaction(work),
    report: (error, about) => system.log.error({ err: error, ...about }, 'a mailbox could not be brought forward'),
  }
}
