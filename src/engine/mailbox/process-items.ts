import { setImmediate } from 'node:timers/promises'
import { BATCH_WORK_MAX } from '../language/work-budget.ts'
import type { Mailbox } from '../model/mailbox-key.ts'
import type { MessageFacts } from '../model/run.ts'
import { type StoredRun, runMailbox } from '../model/stored-run.ts'
import type { PublishedWorkflow } from '../model/subject.ts'
import { type CascadeCounts, isCascade, loadCascadeCounts } from './cascade-limiter.ts'
import type { MailboxItem } from './item.ts'
import { workflowKey } from './mailbox-input.ts'
import type { DecisionPort, EngineTransaction } from './ports.ts'
import { MailboxProcessor } from './processor.ts'

/** Work of an item besides the units that it spends. */
const ITEM_WORK = 2000
/** Work after which other tasks of the process are let in: about a millisecond, as a turn of the event loop costs some µs. */
const YIELD_WORK = 10_000

/** Decides the result of items and saves it. The caller holds the locks of their mailboxes. Returns true if items are left. */
export function processItems<Tx extends EngineTransaction>(
  port: DecisionPort<Tx>,
  tx: Tx,
  items: MailboxItem[],
): Promise<boolean> {
  return processClaim(port, tx, { mailboxes: items.map(({ mailbox }) => mailbox), claim: Promise.resolve(items) })
}

/** The items that a statement in progress takes out of mailboxes. */
type Claim = { mailboxes: Mailbox[]; claim: Promise<MailboxItem[]> }

/** Decides the result of items that are being claimed: what the decisions need is read by statements right behind. */
export async function processClaim<Tx extends EngineTransaction>(
  port: DecisionPort<Tx>,
  tx: Tx,
  claim: Claim,
): Promise<boolean> {
  const { store } = port
  const { items, processors } = await createProcessors(port, tx, claim)
  if (items.length === 0) return false
  const rest = await handleItems(items, processors)
  const all = [...processors.values()]
  const runs = all.flatMap((processor) => [...processor.runs.changed])
  const steps = all.flatMap((processor) => processor.runs.steps)
  const postponed = all.flatMap((processor) => processor.postponed)
  const changes = {
    runs,
    steps,
    effects: all.flatMap((processor) => processor.runs.effects),
    calls: all.flatMap((processor) => processor.runs.calls),
    evaluated: all.flatMap((processor) => processor.evaluated),
  }
  // Sent in this order: rows of the others refer to the runs, and step records to the messages that `apply` inserts.
  await Promise.all([
    store.saveRuns(tx, runs),
    store.saveWaits(tx, runs),
    store.putItems(tx, [...postponed, ...rest]),
    port.apply(tx, changes, () => store.saveSteps(tx, steps)),
  ])
  return rest.length > 0
}

/**
 * Handles items in order, and lets other tasks of the process run between them. Returns the items that the transaction
 * has no time for; the first item is always handled.
 */
async function handleItems(items: MailboxItem[], processors: Map<string, MailboxProcessor>): Promise<MailboxItem[]> {
  let work = 0
  let unyielded = 0
  for (const [index, item] of items.entries()) {
    if (work > BATCH_WORK_MAX) return items.slice(index)
    const spent = processors.get(item.mailbox.id)?.handle(item) ?? 0
    work += spent
    unyielded += ITEM_WORK + spent
    if (unyielded < YIELD_WORK) continue
    await setImmediate()
    unyielded = 0
  }
  return []
}

async function createProcessors<Tx extends EngineTransaction>(
  port: DecisionPort<Tx>,
  tx: Tx,
  { mailboxes: locked, claim }: Claim,
): Promise<{ items: MailboxItem[]; processors: Map<string, MailboxProcessor> }> {
  const { registry, newId } = port
  const mailboxes = [...new Map(locked.map((mailbox) => [mailbox.id, mailbox])).values()]
  const [items, subjects, { workflows: published, unusable }, runs] = await Promise.all([
    claim,
    port.loadSubjects(tx, mailboxes),
    port.loadPublished(tx),
    port.store.loadActiveRuns(tx, mailboxes),
  ])
  const messages = await loadMessages(port, tx, items)
  const cascades = await loadCascades(port, tx, { items, runs, mailboxes })
  const versions = await loadVersions(port, tx, { published, runs })
  const shared = { now: tx.now(), registry, newId, published, unusable, versions, messages }
  const claimedIds = new Set(items.map(({ mailbox }) => mailbox.id))
  const claimed = subjects.filter(({ mailbox }) => claimedIds.has(mailbox.id))
  const processors = claimed.map((subject): [string, MailboxProcessor] => [
    subject.mailbox.id,
    new MailboxProcessor({
      ...shared,
      subject,
      runs: runs.filter((run) => runMailbox(run).id === subject.mailbox.id),
      cascades: cascades.get(subject.mailbox.id) ?? new Map(),
    }),
  ])
  return { items, processors: new Map(processors) }
}

/** Loads the messages of items that were not read with them. */
async function loadMessages<Tx extends EngineTransaction>(
  port: DecisionPort<Tx>,
  tx: Tx,
  items: MailboxItem[],
): Promise<Map<string, MessageFacts>> {
  const known = items.flatMap(({ message }) => (message ? [[message.id, message] as const] : []))
  const missing = items.flatMap((item) => {
    const id = !item.message && (item.kind === 'message' || item.kind === 'event') ? item.payload.messageId : null
    return id === null ? [] : [id]
  })
  return new Map([...known, ...(await port.loadMessages(tx, missing))])
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
