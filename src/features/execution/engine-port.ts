import { advance } from '../../engine/mailbox/advance.ts'
import type { DecisionPort, EnginePort } from '../../engine/mailbox/ports.ts'
import type { MailboxStore, RunStore } from '../../engine/mailbox/store.ts'
import { isTransient } from '../../platform/database/database.ts'
import { splitOnFailure } from '../../platform/database/split-on-failure.ts'
import { newId } from '../../platform/ids.ts'
import type { Job, JobControl } from '../../platform/jobs/job-queue.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { workflowLanguage } from '../../workflow-language.ts'
import { advanceJob } from '../automation/jobs.ts'
import { loadPublished, loadWorkflows } from '../automation/published-workflows.ts'
import { loadMessages } from '../automation/store/load-messages.ts'
import {
  listDueMailboxes,
  lockMailboxes,
  nextItem,
  postponeItem,
  putItems,
  resetAttempts,
  takeItems,
} from '../automation/store/mailbox-store.ts'
import { countCascades, loadActiveRuns, saveRuns, saveSteps, saveWaits } from '../automation/store/run-store.ts'
import type { StoreTransaction } from '../automation/store/store-transaction.ts'
import { storeDeadLetter } from '../dead-letters/store-dead-letter.ts'
import { withResources } from '../templates/load-resources.ts'
import { AdvanceSpans } from './advance-spans.ts'
import { applyAdvance } from './apply-advance.ts'
import { loadSubjects } from './load-subjects.ts'
import { SendsAfterCommit } from './send-after-commit.ts'

/** The engine's store on Postgres. */
const engineStore: MailboxStore<StoreTransaction> & RunStore<StoreTransaction> = {
  lockMailboxes,
  takeItems,
  nextItem,
  postponeItem,
  resetAttempts,
  putItems,
  loadActiveRuns,
  saveRuns,
  saveWaits,
  saveSteps,
  countCascades,
}

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
  const spans = system.tracing && new AdvanceSpans(system.tracing)
  const port: EnginePort<Scope> = {
    ...decisionPort,
    apply: (tx, advance, saveSteps) =>
      applyAdvance(tx, advance, { saveSteps, deliver: (_, messages) => sends.claim(tx, messages) }),
    listDueMailboxes: (tenantId, limit) => listDueMailboxes(system.forTenant(tenantId), limit),
    transaction: (tenantId, work, options = {}) =>
      sends.transact(tenantId, work, { ...options, findSpan: spans?.find }),
    split: async (mailboxes, run) => [...(await splitOnFailure(mailboxes, { toKey: ({ id }) => id, run })).keys()],
    isTransient,
    deadLetter: storeDeadLetter,
    report(error, about) {
      const fields = { err: error, ...about }
      if (isTransient(error))
        system.log.warn({ event: 'mailbox_postponed', ...fields }, 'postponed a mailbox after a transient failure')
      else system.log.error({ event: 'mailbox_failed', ...fields }, 'failed to advance a mailbox')
    },
  }
  return spans ? spans.record(port) : port
}

/** Advances a tenant's mailboxes. Safe to run in parallel: a mailbox is locked, and its items are claimed once. */
export async function advanceMailboxes(
  system: SystemScope,
  { tenantId }: Pick<Job, 'tenantId'>,
  control?: JobControl,
): Promise<void> {
  const isMoreDue = await advance(enginePort(system, control), tenantId)
  if (isMoreDue) system.enqueue(advanceJob(tenantId))
}
