import type { EnginePort } from '../../engine/mailbox/advance.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { stepTypes } from '../../steps/index.ts'
import { applyAdvance } from './apply-advance.ts'
import { loadMessages } from './load-messages.ts'
import { loadSubjects } from './load-subjects.ts'
import { listPublished, loadWorkflows } from '../automation/published-workflows.ts'

/** What the engine needs to settle items in a transaction that is already open. */
export const decisionPort = {
  registry: stepTypes,
  newId,
  loadParties: loadSubjects,
  loadMessages,
  listPublished,
  loadWorkflows,
  apply: applyAdvance,
}

export function enginePort(system: SystemScope): EnginePort<Scope> {
  return {
    ...decisionPort,
    transaction: (tenantId, work) => system.forTenant(tenantId).transaction(work),
    report: (error, about) => system.log.error({ err: error, ...about }, 'failed to advance a mailbox'),
  }
}
