import { Run as RunRow } from '../../models/automation/run.ts'
import type { Scope } from '../../scope.ts'
import { type FollowedEvent, followEvents, type StreamItem, type StreamStart } from './follow-events.ts'
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
  return toRunChanges(scope, run, await followEvents(scope, { after: lastEventId ?? null, types: TYPES, signal }))
}

async function* toRunChanges(
  scope: Scope,
  run: RunRow,
  events: Awaited<ReturnType<typeof followEvents>>,
): AsyncGenerator<StreamItem<RunChange>> {
  for await (const event of events) {
    if (!('data' in event)) {
      yield [event.cursor, { type: event.type }]
      continue
    }
    const steps = await changedSteps(scope, run, event)
    const row = steps && (await findRun(scope, run.id))
    if (!row) continue
    yield [event.cursor, { type: 'run', run: Run.parse(toRun(row)), steps: steps.map((step) => RunStep.parse(step)) }]
  }
}

/** Returns the steps that an event changed; undefined if the event is not about this run. */
async function changedSteps(scope: Scope, run: RunRow, { type, data }: FollowedEvent): Promise<RunStep[] | undefined> {
  if (type.startsWith('message.')) return stepsOfMessage(scope, run, data)
  const isCopy = data['replayId'] === run.id
  if (data['runId'] !== run.id && !isCopy) return undefined
  const { firstStep, lastStep } = data
  // To replay a run changes none of its steps.
  if (firstStep === null || (type === 'run.replayed' && !isCopy)) return []
  const rows = runStepQuery(scope, run.id)
  // An event without a range of steps may have changed any of them.
  if (firstStep !== undefined) void rows.whereBetween('index', [Number(firstStep), Number(lastStep)])
  return (await rows).map(toRunStep)
}

async function stepsOfMessage(scope: Scope, run: RunRow, data: FollowedEvent['data']): Promise<RunStep[] | undefined> {
  const { messageId, conversationId } = data
  if (!messageId || run.conversationId === null || conversationId !== run.conversationId) return undefined
  const rows = await runStepQuery(scope, run.id).where({ messageId })
  return rows.length > 0 ? rows.map(toRunStep) : undefined
}
