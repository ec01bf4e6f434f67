import { setImmediate } from 'node:timers/promises'
import { BATCH_WORK_MAX } from '../language/work-budget.ts'
import { CorruptRunError } from '../model/corrupt-run-error.ts'
import type { ExternalCall } from '../model/decision.ts'
import type { EvaluatedEvent } from '../model/evaluation.ts'
import type { Mailbox } from '../model/mailbox-key.ts'
import type { Registry } from '../model/registry.ts'
import type { MessageFacts, StepRecord } from '../model/run.ts'
import { type StoredRun, runMailbox } from '../model/stored-run.ts'
import type { PublishedWorkflow, Subject } from '../model/subject.ts'
import type { RunEffects } from './active-runs.ts'
import { type CascadeCounts, isCascade, loadCascadeCounts } from './cascade-limiter.ts'
import type { MailboxItem, NextItem } from './item.ts'
import { workflowKey } from './mailbox-input.ts'
import { MailboxProcessor } from './processor.ts'
import type { MailboxStore, RunStore } from './store.ts'

/** A transaction of one tenant. */
export type EngineTransaction = { now(): Date }

/** The result of a batch of mailboxes, committed as a whole. */
export type Advance = {
  /** The runs that changed. */
  runs: StoredRun[]
  /** Complete records, repeated after every change. */
  steps: { runId: string; step: StepRecord }[]
  /** In the order in which they were decided. */
  effects: RunEffects[]
  calls: { run: StoredRun; call: ExternalCall }[]
  evaluated: EvaluatedEvent[]
}

/** The dependencies of a decision. Every call is for a whole batch. */
export interface DecisionPort<Tx extends EngineTransaction> {
  readonly registry: Registry
  readonly store: MailboxStore<Tx> & RunStore<Tx>
  newId(): string
  /** Omits mailboxes that no longer exist. */
  loadSubjects(tx: Tx, mailboxes: Mailbox[]): Promise<Subject[]>
  loadMessages(tx: Tx, messageIds: string[]): Promise<Map<string, MessageFacts>>
  listPublished(tx: Tx): Promise<PublishedWorkflow[]>
  /** Loads workflows at these versions, published or not, and omits those that do not exist. */
  loadWorkflows(tx: Tx, versions: { workflowId: string; version: number }[]): Promise<PublishedWorkflow[]>
  /** Applies the effects of a batch and publishes its events. Runs are saved before, step records after it. */
  apply(tx: Tx, advance: Advance): Promise<void>
}

export interface EnginePort<Tx extends EngineTransaction> extends DecisionPort<Tx> {
  /** Lists mailboxes of a tenant with due items, the longest waiting first. */
  listDueMailboxes(tenantId: string, limit: number): Promise<Mailbox[]>
  transaction<T>(tenantId: string, work: (tx: Tx) => Promise<T>): Promise<T>
  /** Returns true for a failure that says nothing about the item, such as an outage. It costs no attempt. */
  isTransient(error: unknown): boolean
  /** Reports that a mailbox could not be advanced. `isDeadLettered`: that was the last attempt. */
  report(error: unknown, about: { tenantId: string; mailbox: Mailbox; isDeadLettered: boolean }): void
}

const MAILBOXES_MAX = 50
const BATCHES_MAX = 4

/**
 * Advances a tenant's mailboxes: claims the items of a batch, decides in memory, and commits the claim together with the
 * decisions. A crash leaves either all of that or nothing, and the next attempt finds the mailboxes as they are. Returns
 * true if more is due, so that the caller can let other tenants go first.
 */
export async function advance<Tx extends EngineTransaction>(port: EnginePort<Tx>, tenantId: string): Promise<boolean> {
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const mailboxes = await port.listDueMailboxes(tenantId, MAILBOXES_MAX)
    if (mailboxes.length === 0) return false
    await advanceMailboxes(port, tenantId, mailboxes)
  }
  return true
}

/** Advances a batch in one transaction; if that fails, one mailbox at a time, so that one cannot block the others. */
async function advanceMailboxes<Tx extends EngineTransaction>(
  port: EnginePort<Tx>,
  tenantId: string,
  mailboxes: Mailbox[],
): Promise<void> {
  try {
    await port.transaction(tenantId, (tx) => advanceBatch(port, tx, mailboxes))
  } catch {
    const [mailbox, ...rest] = mailboxes
    if (rest.length > 0) for (const one of mailboxes) await advanceMailboxes(port, tenantId, [one])
    else if (mailbox) await advanceItemByItem(port, tenantId, mailbox)
  }
}

/** A failing item is retried with backoff and blocks only its own mailbox until it is dead-lettered. */
async function advanceItemByItem<Tx extends EngineTransaction>(
  port: EnginePort<Tx>,
  tenantId: string,
  mailbox: Mailbox,
): Promise<void> {
  for (;;) {
    const item = await port.transaction(tenantId, (tx) => port.store.nextItem(tx, mailbox))
    if (!item) return
    try {
      await port.transaction(tenantId, (tx) => advanceBatch(port, tx, [mailbox], item.id))
    } catch (error) {
      if (!(await handleFailure(port, { tenantId, mailbox, item, error }))) return
    }
  }
}

type FailedItem = { tenantId: string; mailbox: Mailbox; item: NextItem; error: unknown }

/**
 * Postpones a failed item. After its last attempt the item is dead-lettered, and the run that it is about, or that could
 * not be decided, fails. Returns false if the mailbox must wait for the next attempt.
 */
async function handleFailure<Tx extends EngineTransaction>(
  port: EnginePort<Tx>,
  { tenantId, mailbox, item, error }: FailedItem,
): Promise<boolean> {
  const { store } = port
  const failure = { id: item.id, countsAttempt: !port.isTransient(error) }
  const isDeadLettered = await port.transaction(tenantId, (tx) => store.postponeItem(tx, mailbox, failure))
  port.report(error, { tenantId, mailbox, isDeadLettered })
  const runId = item.runId ?? (error instanceof CorruptRunError ? error.runId : null)
  if (!isDeadLettered || runId === null) return isDeadLettered
  try {
    await port.transaction(tenantId, async (tx) => {
      await store.lockMailboxes(tx, [mailbox])
      await processItems(port, tx, [{ id: port.newId(), mailbox, kind: 'fail', payload: { runId }, attempts: 0 }])
      // Without the failed run, other runs may be able to use the item.
      await store.retryItem(tx, mailbox, item.id)
    })
  } catch (secondError) {
    port.report(secondError, { tenantId, mailbox, isDeadLettered })
  }
  return true
}

async function advanceBatch<Tx extends EngineTransaction>(
  port: EnginePort<Tx>,
  tx: Tx,
  mailboxes: Mailbox[],
  only: string | null = null,
): Promise<void> {
  await port.store.lockMailboxes(tx, mailboxes)
  await processItems(port, tx, await port.store.claimItems(tx, { mailboxes, only }))
}

/** Decides the result of items and saves it. The caller holds the locks of their mailboxes. */
export async function processItems<Tx extends EngineTransaction>(
  port: DecisionPort<Tx>,
  tx: Tx,
  items: MailboxItem[],
): Promise<void> {
  if (items.length === 0) return
  const { store } = port
  const processors = await createProcessors(port, tx, items)
  const rest = await handleItems(items, processors)
  const all = [...processors.values()]
  const runs = all.flatMap((processor) => [...processor.runs.changed])
  const steps = all.flatMap((processor) => processor.runs.steps)
  await store.saveRuns(tx, runs)
  await store.saveWaits(tx, runs)
  await port.apply(tx, {
    runs,
    steps,
    effects: all.flatMap((processor) => processor.runs.effects),
    calls: all.flatMap((processor) => processor.runs.calls),
    evaluated: all.flatMap((processor) => processor.evaluated),
  })
  // Step records refer to the messages that they sent, which `apply` inserts.
  await store.saveSteps(tx, steps)
  const postponed = all.flatMap((processor) => processor.postponed)
  await store.putItems(tx, [...postponed, ...rest])
}

/**
 * Handles items in order, and lets other work of the process run between them. Returns the items that the transaction
 * has no time for; the first item is always handled.
 */
async function handleItems(items: MailboxItem[], processors: Map<string, MailboxProcessor>): Promise<MailboxItem[]> {
  let work = 0
  for (const [index, item] of items.entries()) {
    if (work > BATCH_WORK_MAX) return items.slice(index)
    work += processors.get(item.mailbox.id)?.handle(item) ?? 0
    await setImmediate()
  }
  return []
}

async function createProcessors<Tx extends EngineTransaction>(
  port: DecisionPort<Tx>,
  tx: Tx,
  items: MailboxItem[],
): Promise<Map<string, MailboxProcessor>> {
  const { registry, newId } = port
  const mailboxes = [...new Map(items.map(({ mailbox }) => [mailbox.id, mailbox])).values()]
  const subjects = await port.loadSubjects(tx, mailboxes)
  const messages = await port.loadMessages(tx, items.flatMap(messageIds))
  const published = await port.listPublished(tx)
  const runs = await port.store.loadActiveRuns(tx, mailboxes)
  const cascades = await loadCascades(port, tx, { items, runs, mailboxes })
  const versions = await loadVersions(port, tx, { published, runs })
  const shared = { now: tx.now(), registry, newId, published, versions, messages }
  return new Map(
    subjects.map((subject) => [
      subject.mailbox.id,
      new MailboxProcessor({
        ...shared,
        subject,
        runs: runs.filter((run) => runMailbox(run).id === subject.mailbox.id),
        cascades: cascades.get(subject.mailbox.id) ?? new Map(),
      }),
    ]),
  )
}

function messageIds(item: MailboxItem): string[] {
  const id = item.kind === 'message' || item.kind === 'event' ? item.payload.messageId : null
  return id === null ? [] : [id]
}

/** Counts only if a run of this batch may start a cascaded one. */
async function loadCascades<Tx extends EngineTransaction>(
  { store }: DecisionPort<Tx>,
  tx: Tx,
  { items, runs, mailboxes }: { items: MailboxItem[]; runs: StoredRun[]; mailboxes: Mailbox[] },
): Promise<Map<string, CascadeCounts>> {
  const eventDepths = items.map((item) => (item.kind === 'event' ? item.payload.depth : 0))
  const depths = [...eventDepths, ...runs.map(({ state }) => state.depth)]
  return depths.some((depth) => isCascade(depth + 1)) ? loadCascadeCounts(store, tx, mailboxes) : new Map()
}

/** Loads the versions of the runs that are not the published ones. */
async function loadVersions<Tx extends EngineTransaction>(
  port: DecisionPort<Tx>,
  tx: Tx,
  { published, runs }: { published: PublishedWorkflow[]; runs: StoredRun[] },
): Promise<Map<string, PublishedWorkflow>> {
  const versions = new Map(published.map((workflow) => [workflowKey(workflow), workflow]))
  const missing = runs
    .map(({ workflowId, workflowVersion }) => ({ workflowId, version: workflowVersion }))
    .filter((version) => !versions.has(workflowKey(version)))
  if (missing.length === 0) return versions
  for (const workflow of await port.loadWorkflows(tx, missing)) versions.set(workflowKey(workflow), workflow)
  return versions
}
