import type { DecisionPort, EnginePort } from '../../engine/mailbox/ports.ts'
import { isTransient } from '../../platform/database/database.ts'
import { splitOnFailure } from '../../platform/database/split-on-failure.ts'
import { newId } from '../../platform/ids.ts'
import type { JobControl } from '../../platform/jobs/job-queue.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { workflowLanguage } from '../../workflow-language.ts'
import { loadPublished, loadWorkflows } from '../automation/published-workflows.ts'
import { engineStore } from '../automation/store/engine-store.ts'
import { loadMessages } from '../automation/store/load-messages.ts'
import { listDueMailboxes } from '../automation/store/mailbox-store.ts'
import { storeDeadLetter } from '../dead-letters/store-dead-letter.ts'
import { applyAdvance } from './apply-advance.ts'
import { withResources } from '../templates/load-resources.ts'
import { loadSubjects } from './load-subjects.ts'
import { SendsAfterCommit } from './send-after-commit.ts'

/** The dependencies of decisions in a transaction that is already open. */
export const decisionPort: DecisionPort<Scope> = {
  registry: workflowLanguage,
  store: engineStore,
  newId,
  loadSubjects,
  loadMessages,
  async loadPublished(tx) {
    const { workflows, unusable } = await loadPublished(tx)
    return { workflows: await withResources(tx, workflows), unusable }
  },
  loadWorkflows: async (tx, versions) => withResources(tx, await loadWorkflows(tx, versions)),
  apply: (tx, advance, saveSteps) => applyAdvance(tx, advance, { saveSteps }),
}

/** Messages of a transaction are sent right after its commit if `control` lets this process do so, and else by a job. */
export function enginePort(system: SystemScope, control: JobControl = {}): EnginePort<Scope> {
  const sends = new SendsAfterCommit(system, control)
  return {
    ...decisionPort,
    apply: (tx, advance, saveSteps) =>
      applyAdvance(tx, advance, { saveSteps, deliver: (_, messages) => sends.claim(tx, messages) }),
    listDueMailboxes: (tenantId, limit) => listDueMailboxes(system.forTenant(tenantId), limit),
    transaction: (tenantId, work, options = {}) => sends.transact(tenantId, work, options),
    split: async (mailboxes, run) => [...(await splitOnFailure(mailboxes, { toKey: ({ id }) => id, run })).keys()],
    isTransient,
    deadLetter: storeDeadLetter,
    report(error, about) {
      const fields = { err: error, ...about }
      if (isTransient(error)) system.log.warn(fields, 'postponed a mailbox after a transient failure')
      else system.log.error(fields, 'failed to advance a mailbox')
    },
  }
}
