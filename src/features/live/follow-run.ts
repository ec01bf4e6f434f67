import { Run as RunRow } from '../../models/automation/run.ts'
import type { Scope } from '../../scope.ts'
import { type Followed, type FollowedEvent, followEvents, type Mark } from './follow-events.ts'
import { toRunStep, runStepQuery, toRun, runQuery } from '../runs/queries.ts'
import { type FollowRun, Run, RunStep } from '../runs/schema.ts'

const TYPES = [
  ...['started', 'queued', 'running', 'waiting', 'completed', 'failed', 'canceled', 'expired', 'replayed'].map(
    (what) => `run.${what}`,
  ),
  // A message is queued in the moment in which its step is written, and the run's own event tells that.
  ...['sent', 'delivered', 'read', 'played', 'failed', 'canceled'].map((what) => `message.${what}`),
]

/** The run as it is now with the steps that changed. */
export type RunChange = { type: 'run'; run: Run; steps: RunStep[] } | Mark

/**
 * Every change of a run from `lastEventId` on: what one event changed is told at once, so that whoever lost the
 * connection has either all of it or nothing.
 */
export async function followRun(
  scope: Scope,
  { runId, lastEventId }: FollowRun,
  signal: AbortSignal,
): Promise<AsyncGenerator<Followed<RunChange>>> {
  const run = await scope.get(RunRow, runId)
  return tell(scope, run, await followEvents(scope, { after: lastEventId ?? null, types: TYPES, signal }))
}

async function* tell(
  scope: Scope,
  run: RunRow,
  events: Awaited<ReturnType<typeof followEvents>>,
): AsyncGenerator<Followed<RunChange>> {
  for await (const event of events) {
    if (!('data' in event)) {
      yield [event.cursor, { type: event.type }]
      continue
    }
    const steps = await changedSteps(scope, run, event)
    const row = steps && (await runQuery(scope).findOne('id', run.id))
    if (!row) continue
    yield [event.cursor, { type: 'run', run: Run.parse(toRun(row)), steps: steps.map((step) => RunStep.parse(step)) }]
  }
}

/** Undefined if the event is of something else. */
async function changedSteps(scope: Scope, run: RunRow, { type, data }: FollowedEvent): Promise<RunStep[] | undefined> {
  if (type.startsWith('message.')) return delivered(scope, run, data)
  const isCopy = data['replayId'] === run.id
  if (data['runId'] !== run.id && !isCopy) return undefined
  const { firstStep, lastStep } = data
  // A run that is replayed stays as it is, but for being told so.
  if (firstStep === null || (type === 'run.replayed' && !isCopy)) return []
  const rows = runStepQuery(scope, run.id)
  // An event that does not say which steps it wrote may have written any.
  if (firstStep !== undefined) void rows.whereBetween('index', [Number(firstStep), Number(lastStep)])
  return (await rows).map(toRunStep)
}

async function delivered(scope: Scope, run: RunRow, data: FollowedEvent['data']): Promise<RunStep[] | undefined> {
  const { messageId, conversationId } = data
  if (!messageId || run.conversationId === null || conversationId !== run.conversationId) return undefined
  const rows = await runStepQuery(scope, run.id).where({ messageId })
  return rows.length > 0 ? rows.map(toRunStep) : undefined
}
