/**
 * A run: `queued → running ⇄ waiting → completed | failed | canceled | expired`.
 * A step of it: `running ⇄ waiting → completed | failed | canceled`, or `skipped` at once.
 *
 * Between two events a run is queued, waiting or finished: `running` is its status while it is being decided. All of
 * it is plain JSON, its times ISO 8601 texts, so that a run read back from a database decides exactly as before.
 */
import { HOUR } from '../../platform/time.ts'

export type JsonObject = Record<string, unknown>

export type RunStatus = 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'canceled' | 'expired'
export type StepStatus = 'running' | 'waiting' | 'completed' | 'failed' | 'skipped' | 'canceled'

const FINISHED: ReadonlySet<RunStatus> = new Set(['completed', 'failed', 'canceled', 'expired'])

/** True for a final status, which no event changes. */
export function isFinished(run: { status: RunStatus }): boolean {
  return FINISHED.has(run.status)
}

export type RunError = { code: string; message: string; stepId: string | null }

/** A message as conditions and placeholders read it. */
export type MessageFacts = JsonObject & { id: string; body: string | null }

/** `reply` waits for the customer, `timer` for a time, `event` for a custom event, `result` for an external call. */
export type WaitingFor = 'reply' | 'timer' | 'event' | 'result'

export type Waiting = {
  for: WaitingFor
  /** End of the wait, set by the step; null if only the run's own end limits it. */
  until: string | null
  /** True if the step failed and waits for its next attempt. */
  retrying: boolean
  /** State that the step reads again when it continues. */
  state: unknown
}

/** One execution of a step. After every change it is recorded again, complete and under the same index. */
export type StepRecord = {
  id: string
  index: number
  stepId: string
  name: string | null
  type: string
  /** Path through the loops around it and their iterations: `each[3].send`. */
  path: string
  /** Number of times that the run has left this step before. */
  iteration: number
  attempt: number
  status: StepStatus
  input: unknown
  output: unknown
  branch: string | null
  error: { code: string; message: string } | null
  messageId: string | null
  waitingUntil: string | null
  startedAt: string
  finishedAt: string | null
}

/** A loop that is under way. `items` is null if it iterates while a condition holds. */
export type LoopFrame = { loopId: string; index: number; items: unknown[] | null }

/** A run that has not started because the customer may still be writing. */
export type Debouncing = {
  /** Start time, unless another message arrives before. */
  until: string
  /** Latest start time. */
  latest: string
}

export type RunState = {
  id: string
  status: RunStatus
  /** The step that is next, that waits, or at which the run ended; null after the last one. */
  stepId: string | null
  /** Rises with every wait, so that a timer of an earlier wait is void. */
  epoch: number
  /** Index of the next step record. */
  stepsCount: number
  trigger: JsonObject
  input: unknown
  message: MessageFacts | null
  variables: JsonObject
  /** Variables whose values are redacted. */
  sensitive: string[]
  /** The loops that the run is in, the innermost last. */
  frames: LoopFrame[]
  /** Number of runs between this one and the person or external event that caused it. */
  depth: number
  /** The run that waits for this one, and the epoch of its wait. */
  parent: { runId: string; epoch: number } | null
  debouncing: Debouncing | null
  /** Results that replace external calls, by step id. */
  stepOutputOverrides?: JsonObject
  /** Latest outputs, by step id. */
  steps: Record<string, { output: unknown }>
  /** Number of times that the run has left each step. */
  visits: Record<string, number>
  waiting: Waiting | null
  /** The record of the step that waits. */
  open: StepRecord | null
  /** Number of executions in total, and within the hour that began at `since`. */
  executed: { total: number; since: string; inHour: number }
  /** Number of ids that the run has derived for messages and records. */
  idsCount: number
  output: unknown
  error: RunError | null
  queuedAt: string
  startedAt: string | null
  expiresAt: string | null
  finishedAt: string | null
}

/** A step id may equal the name of an inherited property such as `constructor`. */
export function countVisits({ visits }: RunState, stepId: string): number {
  return Object.hasOwn(visits, stepId) ? (visits[stepId] ?? 0) : 0
}

const STEPS_PER_HOUR = 1000
const STEPS_MAX = 10_000

/** Returns the counts after one more execution; undefined if the run has reached a limit. */
export function countExecution({ executed }: RunState, now: Date): RunState['executed'] | undefined {
  const { total, since, inHour } = executed
  const isNewHour = now.getTime() - Date.parse(since) >= HOUR
  const used = isNewHour ? 0 : inHour
  if (total >= STEPS_MAX || used >= STEPS_PER_HOUR) return undefined
  return { total: total + 1, since: isNewHour ? now.toISOString() : since, inHour: used + 1 }
}
