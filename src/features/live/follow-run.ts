import { Run as RunRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import { EventItems, type FeedEvent } from './event-feed.ts'
import { followEvents, type StreamItem, type StreamStart } from './follow-events.ts'
import { findRun, runStepQuery, toRun, toRunStep } from '../runs/queries.ts'
import { type FollowRun, Run, RunStep } from '../runs/schema.ts'

const TYPES = [
  ...['started', 'queued', 'running', 'waiting', 'completed', 'failed', 'canceled', 'expired', 'replayed'].map(
    (change) => `run.${change}`,
  ),
  // `message.queued` is left out: a message is queued together with its step, for which the run has an event.
  ...['sent', 'delivered', 'read', 'played', 'failed', 'canceled'].map((change) => `message.${change}`),
]

/** Current state of the run, with the steps that changed. */
export type RunChange = { type: 'run'; run: Run; steps: RunStep[] } | StreamStart

const ITEMS = new EventItems<RunChange | undefined>()

/**
 * Follows the changes of a run from `lastEventId`. What one event changed is one item, so a subscriber that is
 * disconnected has received either all of it or nothing.
 */
export async function followRun(
  scope: Scope,
  { runId, lastEventId }: FollowRun,
  signal: AbortSignal,
): Promise<AsyncGenerator<StreamItem<RunChange>>> {
  const run = await scope.get(RunRow, runId)
  const isMatch = (event: FeedEvent) => mayChange(run, event)
  return toRunChanges(
    scope,
    run,
    await followEvents(scope, { after: lastEventId ?? null, types: TYPES, signal, isMatch }),
  )
}

async function* toRunChanges(
  scope: Scope,
  run: RunRow,
  events: Awaited<ReturnType<typeof followEvents>>,
): AsyncGenerator<StreamItem<RunChange>> {
  for await (const item of events) {
    if ('start' in item) {
      yield [item.cursor, item.start]
      continue
    }
    const { cursor, event } = item
    const change = await ITEMS.get(event, run.id, () => loadRunChange(scope, run, event))
    if (change) yield [cursor, change]
  }
}

/** Returns false for most events that are not about the run. */
function mayChange(run: RunRow, { type, data }: FeedEvent): boolean {
  if (!type.startsWith('message.')) return data['runId'] === run.id || data['replayId'] === run.id
  return run.conversationId !== null && data['conversationId'] === run.conversationId
}

async function loadRunChange(scope: Scope, run: RunRow, event: FeedEvent): Promise<RunChange | undefined> {
  const steps = await changedSteps(scope, run, event)
  const row = steps && (await findRun(scope, run.id))
  return row && { type: 'run', run: Run.parse(toRun(row)), steps: steps.map((step) => RunStep.parse(step)) }
}

/** Returns the steps that an event changed; undefined if the event is not about this run. */
async function changedSteps(scope: Scope, run: RunRow, { type, data }: FeedEvent): Promise<RunStep[] | undefined> {
  if (type.startsWith('message.')) return stepsOfMessage(scope, run, data)
  const isCopy = data['replayId'] === run.id
  const { firstStep, lastStep } = data
  // To replay a run changes none of its steps.
  if (firstStep === null || (type === 'run.replayed' && !isCopy)) return []
  const rows = runStepQuery(scope, run.id)
  // An event without a range of steps may have changed any of them.
  if (firstStep !== undefined) void rows.whereBetween('index', [Number(firstStep), Number(lastStep)])
  return (await rows).map(toRunStep)
}

async function stepsOfMessage(scope: Scope, run: RunRow, data: FeedEvent['data']): Promise<RunStep[] | undefined> {
  const { messageId } = data
  if (!messageId) return undefined
  const rows = await runStepQuery(scope, run.id).where({ messageId })
  return rows.length > 0 ? rows.map(toRunStep) : undefined
}
