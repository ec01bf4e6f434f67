import type { Mailbox } from '../model/mailbox-key.ts'
import { type StoredRun, runMailbox } from '../model/stored-run.ts'
import type { Database } from '../../platform/database/database.ts'
import type { Clock } from '../../platform/time.ts'
import { countCascades, isCascade } from './cascade-limiter.ts'
import type { EffectRequest } from '../model/decision.ts'
import type { EvaluatedEvent } from '../model/evaluation.ts'
import {
  lockMailboxes,
  type MailboxItem,
  nextItem,
  type NextItem,
  listDueMailboxes,
  postponeItem,
  putItems,
  retryItem,
  claimItems,
} from './mailbox.ts'
import { MailboxProcessor } from './processor.ts'
import type { Subject, PublishedWorkflow } from '../model/subject.ts'
import type { MessageFacts, StepRecord } from '../model/run.ts'
import { CorruptRunError } from '../model/corrupt-run-error.ts'
import { loadActiveRuns, saveRuns, saveSteps, saveWaits } from './run-store.ts'
import type { StepRegistry } from '../model/step.ts'

/** A transaction of one tenant. */
export type EngineTransaction = { readonly tenantId: string; readonly db: Database; now(): Date }

/** What a batch of mailboxes came to: all of it is committed at once. */
export type Advance = {
  /** The runs that changed. */
  runs: StoredRun[]
  /** Each whole, and again whenever it changed. */
  steps: { runId: string; step: StepRecord }[]
  /** In the order in which they were decided. */
  effects: { run: StoredRun; party: Subject; placed: EffectRequest[] }[]
  evaluated: EvaluatedEvent[]
}

/** What the engine must be given to know the product. Every call is for a whole batch. */
export interface DecisionPort<Tx extends EngineTransaction> {
  readonly registry: StepRegistry
  newId(): string
  /** Mailboxes that are gone are left out. */
  loadParties(tx: Tx, mailboxes: Mailbox[]): Promise<Subject[]>
  loadMessages(tx: Tx, messageIds: string[]): Promise<Map<string, MessageFacts>>
  listPublished(tx: Tx): Promise<PublishedWorkflow[]>
  /** Workflows at these versions, published or not. One that is not there is left out. */
  loadWorkflows(tx: Tx, wanted: { workflowId: string; version: number }[]): Promise<PublishedWorkflow[]>
  /** Does to the world what the runs decided, and tells of it. The runs are saved, their steps are not yet. */
  apply(tx: Tx, advance: Advance): Promise<void>
}

export interface EnginePort<Tx extends EngineTransaction> extends DecisionPort<Tx> {
  transaction<T>(tenantId: string, work: (tx: Tx) => Promise<T>): Promise<T>
  /** A mailbox could not be brought forward. `isSetAside`: it was tried for the last time. */
  report(error: unknown, about: { tenantId: string; mailbox: Mailbox; isSetAside: boolean }): void
}

const MAILBOXES_MAX = 50
const BATCHES_MAX = 4

/**
 * Brings a tenant's mailboxes forward: takes a batch of them, decides in memory, and commits what was decided together
 * with the taking. Killed anywhere, it has either done all of that or nothing, and doing it again finds the mailboxes as
 * they are. True if more is due: a tenant with much to do lets others take their turn in between.
 */
export async function advance<Tx extends EngineTransaction>(
  host: EnginePort<Tx>,
  db: Database,
  clock: Clock,
  tenantId: string,
): Promise<boolean> {
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const now = clock.now()
    const mailboxes = await listDueMailboxes(db, { tenantId, now, limit: MAILBOXES_MAX })
    if (mailboxes.length === 0) return false
    await advanceSome(host, tenantId, mailboxes)
  }
  return true
}

/** One batch in one transaction; if that fails, one mailbox at a time, so that one cannot hold up the others. */
async function advanceSome<Tx extends EngineTransaction>(
  host: EnginePort<Tx>,
  tenantId: string,
  mailboxes: Mailbox[],
): Promise<void> {
  try {
    await host.transaction(tenantId, (tx) => advanceBatch(host, tx, mailboxes))
  } catch {
    const [mailbox, ...rest] = mailboxes
    if (rest.length > 0) for (const one of mailboxes) await advanceSome(host, tenantId, [one])
    else if (mailbox) await advanceOneByOne(host, tenantId, mailbox)
  }
}

/** What cannot be settled rests, and holds up its own mailbox at most until it is set aside. */
async function advanceOneByOne<Tx extends EngineTransaction>(
  host: EnginePort<Tx>,
  tenantId: string,
  mailbox: Mailbox,
): Promise<void> {
  for (;;) {
    const item = await host.transaction(tenantId, (tx) => nextItem(tx.db, { tenantId, mailbox, now: tx.now() }))
    if (!item) return
    try {
      await host.transaction(tenantId, (tx) => advanceBatch(host, tx, [mailbox], item.id))
    } catch (error) {
      if (!(await isSetAside(host, { tenantId, mailbox, item, error }))) return
    }
  }
}

type Unsettled = { tenantId: string; mailbox: Mailbox; item: NextItem; error: unknown }

/** False if it is tried again later. What can be done for nobody any more ends the run that stands in the way. */
async function isSetAside<Tx extends EngineTransaction>(
  host: EnginePort<Tx>,
  { tenantId, mailbox, item: { id, payload }, error }: Unsettled,
): Promise<boolean> {
  const isLast = await host.transaction(tenantId, (tx) => postponeItem(tx.db, { tenantId, mailbox, id, now: tx.now() }))
  host.report(error, { tenantId, mailbox, isSetAside: isLast })
  const runId = payload['runId'] ?? (error instanceof CorruptRunError ? error.runId : null)
  if (!isLast || typeof runId !== 'string') return isLast
  try {
    await host.transaction(tenantId, async (tx) => {
      await lockMailboxes(tx.db, tenantId, [mailbox])
      await processItems(host, tx, [{ id: host.newId(), mailbox, kind: 'fail', payload: { runId }, attempts: 0 }])
      // Others may have a use for it, now that the run is over.
      await retryItem(tx.db, { tenantId, mailbox, id, now: tx.now() })
    })
  } catch (failure) {
    host.report(failure, { tenantId, mailbox, isSetAside: true })
  }
  return true
}

async function advanceBatch<Tx extends EngineTransaction>(
  host: EnginePort<Tx>,
  tx: Tx,
  mailboxes: Mailbox[],
  only: string | null = null,
): Promise<void> {
  await lockMailboxes(tx.db, tx.tenantId, mailboxes)
  const items = await claimItems(tx.db, { tenantId: tx.tenantId, mailboxes, now: tx.now(), only })
  await processItems(host, tx, items)
}

/** Decides what items come to, and saves it. The caller holds the locks of their mailboxes. */
export async function processItems<Tx extends EngineTransaction>(
  host: DecisionPort<Tx>,
  tx: Tx,
  items: MailboxItem[],
): Promise<void> {
  if (items.length === 0) return
  const { tenantId, db } = tx
  const now = tx.now()
  const turns = await openTurns(host, tx, items)
  for (const item of items) turns.get(item.mailbox.id)?.handle(item)
  const all = [...turns.values()]
  const runs = all.flatMap((turn) => [...turn.runs.changed])
  const steps = all.flatMap((turn) => turn.runs.steps)
  const postponed = all.flatMap((turn) => turn.postponed)
  await saveRuns(db, tenantId, runs)
  await saveWaits(db, { tenantId, now }, runs)
  await host.apply(tx, {
    runs,
    steps,
    effects: all.flatMap((turn) => turn.runs.effects),
    evaluated: all.flatMap((turn) => turn.evaluated),
  })
  // Steps name the messages they sent, so those come first.
  await saveSteps(db, tenantId, steps)
  await putItems(
    db,
    { tenantId, now },
    postponed.map(({ item, dueAt }) => ({ ...item, dueAt })),
  )
}

async function openTurns<Tx extends EngineTransaction>(
  host: DecisionPort<Tx>,
  tx: Tx,
  items: MailboxItem[],
): Promise<Map<string, MailboxProcessor>> {
  const mailboxes = [...new Map(items.map(({ mailbox }) => [mailbox.id, mailbox])).values()]
  const messageIds = items.flatMap(({ payload }) =>
    typeof payload['messageId'] === 'string' ? [payload['messageId']] : [],
  )
  const parties = await host.loadParties(tx, mailboxes)
  const messages = await host.loadMessages(tx, messageIds)
  const published = await host.listPublished(tx)
  const runs = await loadActiveRuns(tx.db, tx.tenantId, mailboxes)
  const depths = [...items.map(({ payload }) => Number(payload['depth'])), ...runs.map(({ state }) => state.depth)]
  const mayChain = depths.some((depth) => isCascade(depth + 1))
  const chained = mayChain ? await countCascades(tx.db, { tenantId: tx.tenantId, mailboxes, now: tx.now() }) : new Map()
  const versions = await loadVersions(host, tx, { published, runs })
  const { registry, newId } = host
  const shared = { now: tx.now(), registry, newId, published, versions, messages }
  return new Map(
    parties.map((party) => [
      party.mailbox.id,
      new MailboxProcessor({
        ...shared,
        party,
        runs: runs.filter((run) => runMailbox(run).id === party.mailbox.id),
        chained: chained.get(party.mailbox.id) ?? new Map(),
      }),
    ]),
  )
}

/** Most runs are on what is published, which is there already. */
async function loadVersions<Tx extends EngineTransaction>(
  host: DecisionPort<Tx>,
  tx: Tx,
  { published, runs }: { published: PublishedWorkflow[]; runs: StoredRun[] },
): Promise<Map<string, PublishedWorkflow>> {
  const versions = new Map(published.map((workflow) => [`${workflow.workflowId}:${workflow.version}`, workflow]))
  const missing = runs
    .map(({ workflowId, workflowVersion }) => ({ workflowId, version: workflowVersion }))
    .filter(({ workflowId, version }) => !versions.has(`${workflowId}:${version}`))
  if (missing.length === 0) return versions
  for (const workflow of await host.loadWorkflows(tx, missing)) {
    versions.set(`${workflow.workflowId}:${workflow.version}`, workflow)
  }
  return versions
}
