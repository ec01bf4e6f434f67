import type { Clock } from '../platform/time.ts'
import type { CompiledDefinition } from './compiled.ts'
import { ConversationTurn, type Conversation, type Published } from './conversation-turn.ts'
import type { PlacedEffect } from './decision.ts'
import type { Database } from '../platform/database.ts'
import { lockConversations, type MailboxItem, pickConversations, postponeItems, takeItems } from './mailbox.ts'
import type { MessageFacts } from './run.ts'
import { loadOpenRuns, saveRuns, saveSteps, saveWaits, type StoredRun } from './run-store.ts'
import type { StepRegistry } from './step.ts'

/** A transaction of one tenant. */
export type EngineTransaction = { readonly tenantId: string; readonly db: Database; now(): Date }

/** What a batch of conversations came to: all of it is committed at once. */
export type Advance = {
  /** The runs that changed. */
  runs: StoredRun[]
  /** In the order in which they were decided. */
  effects: { run: StoredRun; conversation: Conversation; placed: PlacedEffect[] }[]
}

/** What the engine must be given to know the product. Every call is for a whole batch. */
export interface EngineHost<Tx extends EngineTransaction> {
  readonly registry: StepRegistry
  transaction<T>(tenantId: string, work: (tx: Tx) => Promise<T>): Promise<T>
  loadConversations(tx: Tx, conversationIds: string[]): Promise<Map<string, Conversation>>
  loadMessages(tx: Tx, messageIds: string[]): Promise<Map<string, MessageFacts>>
  listPublished(tx: Tx): Promise<Published[]>
  /** By `workflowId:version`. */
  loadVersions(tx: Tx, wanted: { workflowId: string; version: number }[]): Promise<Map<string, CompiledDefinition>>
  /** Does to the world what the runs decided, and tells of it. The runs are saved, their steps are not yet. */
  apply(tx: Tx, advance: Advance): Promise<void>
  /** A conversation could not be brought forward. `setAside`: it was tried for the last time. */
  report(error: unknown, about: { tenantId: string; conversationId: string; setAside: boolean }): void
}

const CONVERSATIONS_MAX = 50

/**
 * Brings a tenant's conversations forward until nothing is due: takes a batch of mailboxes, decides in memory, and
 * commits what was decided together with the taking. Killed anywhere, it has either done all of that or nothing, and
 * doing it again finds the mailboxes as they are.
 */
export async function advance<Tx extends EngineTransaction>(
  host: EngineHost<Tx>,
  db: Database,
  clock: Clock,
  tenantId: string,
): Promise<void> {
  for (;;) {
    const now = clock.now()
    const conversationIds = await pickConversations(db, { tenantId, now, limit: CONVERSATIONS_MAX })
    if (conversationIds.length === 0) return
    await advanceSome(host, tenantId, conversationIds)
  }
}

/** One batch in one transaction; if that fails, one conversation at a time, so that one cannot hold up the others. */
async function advanceSome<Tx extends EngineTransaction>(
  host: EngineHost<Tx>,
  tenantId: string,
  conversationIds: string[],
): Promise<void> {
  try {
    await host.transaction(tenantId, (tx) => advanceBatch(host, tx, conversationIds))
  } catch (error) {
    const [first, ...rest] = conversationIds
    if (rest.length > 0)
      for (const conversationId of conversationIds) await advanceSome(host, tenantId, [conversationId])
    else if (first) await host.transaction(tenantId, (tx) => postpone(host, tx, { conversationId: first, error }))
  }
}

async function postpone<Tx extends EngineTransaction>(
  host: EngineHost<Tx>,
  tx: Tx,
  { conversationId, error }: { conversationId: string; error: unknown },
): Promise<void> {
  const { tenantId } = tx
  const setAside = await postponeItems(tx.db, { tenantId, conversationId, now: tx.now() })
  host.report(error, { tenantId, conversationId, setAside })
}

async function advanceBatch<Tx extends EngineTransaction>(
  host: EngineHost<Tx>,
  tx: Tx,
  conversationIds: string[],
): Promise<void> {
  const { tenantId, db } = tx
  await lockConversations(db, tenantId, conversationIds)
  const now = tx.now()
  const items = await takeItems(db, { tenantId, conversationIds, now })
  if (items.length === 0) return
  const turns = await openTurns(host, tx, items)
  for (const item of items) turns.get(item.conversationId)?.take(item)
  const runs = [...turns.values()].flatMap((turn) => [...turn.changed])
  const steps = [...turns.values()].flatMap((turn) => turn.steps)
  const effects = [...turns.values()].flatMap((turn) => turn.effects)
  await saveRuns(db, tenantId, runs)
  await saveWaits(db, { tenantId, now }, runs)
  await host.apply(tx, { runs, effects })
  // Steps name the messages they sent, so those come first.
  await saveSteps(db, tenantId, steps)
}

async function openTurns<Tx extends EngineTransaction>(
  host: EngineHost<Tx>,
  tx: Tx,
  items: MailboxItem[],
): Promise<Map<string, ConversationTurn>> {
  const conversationIds = [...new Set(items.map((item) => item.conversationId))]
  const messageIds = items.flatMap(({ payload }) =>
    typeof payload['messageId'] === 'string' ? [payload['messageId']] : [],
  )
  const conversations = await host.loadConversations(tx, conversationIds)
  const messages = await host.loadMessages(tx, messageIds)
  const published = await host.listPublished(tx)
  const runs = await loadOpenRuns(tx.db, tx.tenantId, conversationIds)
  const versions = await host.loadVersions(
    tx,
    runs.map(({ workflowId, workflowVersion }) => ({ workflowId, version: workflowVersion })),
  )
  const shared = { now: tx.now(), registry: host.registry, published, versions, messages }
  return new Map(
    [...conversations].map(([conversationId, conversation]) => {
      const own = runs.filter((run) => run.conversationId === conversationId)
      return [conversationId, new ConversationTurn({ ...shared, conversation, runs: own })]
    }),
  )
}
