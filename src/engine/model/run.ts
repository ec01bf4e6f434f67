/**
 * A run: `queued → running ⇄ waiting → completed | failed | canceled | expired`.
 * A step of it: `running ⇄ waiting → completed | failed | canceled`, or `skipped` at once.
 *
 * Between two events a run is queued, waiting or settled: `running` is what it is while it is being decided. All of it
 * is plain JSON, its times ISO 8601 texts: what is read back from a database decides as what was written.
 */
import { HOUR } from '../../platform/time.ts'
import type { CompiledDefinition } from './compiled.ts'

export type JsonObject = Record<string, unknown>

export type RunStatus = 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'canceled' | 'expired'
export type StepStatus = 'running' | 'waiting' | 'completed' | 'failed' | 'skipped' | 'canceled'

const SETTLED: ReadonlySet<RunStatus> = new Set(['completed', 'failed', 'canceled', 'expired'])

/** Nothing will ever happen to it again. */
export function isFinished(run: { status: RunStatus }): boolean {
  return SETTLED.has(run.status)
}

export type RunError = { code: string; message: string; stepId: string | null }

/** A message as conditions and placeholders read it. */
export type MessageFacts = JsonObject & { id: string; body: string | null }

/** `reply` waits for the customer, `timer` for a time, `event` for a custom event, `result` for what is done outside. */
export type WaitingFor = 'reply' | 'timer' | 'event' | 'result'

export type Waiting = {
  for: WaitingFor
  /** When the wait ends by itself, as the step wants it; null if never before the run does. */
  until: string | null
  /** True if the step failed and waits for its next attempt. */
  retrying: boolean
  /** What the step wants to find again when it goes on. */
  memory: unknown
}

/** One execution of a step. Whenever it changes it is recorded again, whole and under the same index. */
export type StepRecord = {
  id: string
  index: number
  stepId: string
  name: string | null
  type: string
  /** Where it stands within loops, and in which round: `each[3].send`. */
  path: string
  /** How often the run had been at this step before. */
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

/** A loop that is under way. `items` is null if it goes round while a condition holds. */
export type LoopFrame = { loopId: string; index: number; items: unknown[] | null }

/** A run that has not begun because the customer may still be writing. */
export type Debouncing = {
  /** When it begins, unless another message comes before. */
  until: string
  /** When it begins whatever comes. */
  latest: string
}

export type RunState = {
  id: string
  status: RunStatus
  /** Where the run is: the step that is next, or waits, or at which it ended; null once past the last. */
  stepId: string | null
  /** Rises with every wait: a timer of an earlier one is void. */
  epoch: number
  /** How many indexes are given: the next step's index. */
  stepsCount: number
  trigger: JsonObject
  input: unknown
  message: MessageFacts | null
  variables: JsonObject
  /** The variables whose values are never shown. */
  sensitive: string[]
  /** The loops that the run is in, the innermost last. */
  frames: LoopFrame[]
  /** How many runs stand between this one and what a person or the outside did: runs wake runs. */
  depth: number
  /** The run that waits for this one, and the epoch of its wait. */
  parent: { runId: string; epoch: number } | null
  debouncing: Debouncing | null
  /** What steps are told instead of asking the outside, by id. */
  answers?: JsonObject
  /** What steps gave, by id, the last time they were done. */
  steps: Record<string, { output: unknown }>
  /** How often the run has been through a step and left it. */
  visits: Record<string, number>
  waiting: Waiting | null
  /** The record of the step that waits. */
  open: StepRecord | null
  /** Executions in all, and within the hour that began at `since`. */
  executed: { total: number; since: string; inHour: number }
  /** How many ids the run gave to messages and records. */
  idsCount: number
  output: unknown
  error: RunError | null
  queuedAt: string
  startedAt: string | null
  expiresAt: string | null
  finishedAt: string | null
}

export type NewRun = {
  id: string
  trigger: JsonObject
  input?: unknown
  message?: MessageFacts | null
  /** Over the defaults that the definition declares. */
  variables?: JsonObject
  depth?: number
  parent?: RunState['parent']
}

export function queueRun(compiled: CompiledDefinition, start: NewRun, now: Date): RunState {
  const defaults = Object.entries(compiled.variables).map(([name, variable]) => [name, variable.default])
  return {
    id: start.id,
    ...nothingYet(now),
    stepId: compiled.steps[0]?.id ?? null,
    trigger: start.trigger,
    input: start.input ?? null,
    message: start.message ?? null,
    variables: { ...Object.fromEntries(defaults), ...start.variables },
    sensitive: Object.keys(compiled.variables).filter((name) => compiled.variables[name]?.sensitive),
    frames: [],
    depth: start.depth ?? 0,
    parent: start.parent ?? null,
    steps: {},
    visits: {},
  }
}

/** What every run is before it has begun. */
function nothingYet(now: Date) {
  return {
    status: 'queued',
    epoch: 0,
    stepsCount: 0,
    idsCount: 0,
    debouncing: null,
    waiting: null,
    open: null,
    executed: { total: 0, since: now.toISOString(), inHour: 0 },
    output: null,
    error: null,
    queuedAt: now.toISOString(),
    startedAt: null,
    expiresAt: null,
    finishedAt: null,
  } as const
}

/**
 * A new run that goes on where a settled one stopped, knowing what that one knew. `stepsCount` is the number of its
 * steps that the new run takes over as they are; the step at which it stopped is done anew.
 */
export function queueResumption(
  settled: RunState,
  { id, stepsCount }: { id: string; stepsCount: number },
  now: Date,
): RunState {
  return {
    ...settled,
    id,
    ...nothingYet(now),
    stepsCount,
    idsCount: stepsCount,
    parent: null,
  }
}

/** Steps may be named like anything that an object inherits. */
export function countVisits({ visits }: RunState, stepId: string): number {
  return Object.hasOwn(visits, stepId) ? (visits[stepId] ?? 0) : 0
}

const STEPS_PER_HOUR = 1000
const STEPS_IN_ALL = 10_000

/** Counts one more execution; false if the run has had all that a run may have. */
export function countExecution(run: RunState, now: Date): boolean {
  const { total, since, inHour } = run.executed
  const isNewHour = now.getTime() - Date.parse(since) >= HOUR
  const used = isNewHour ? 0 : inHour
  if (total >= STEPS_IN_ALL || used >= STEPS_PER_HOUR) return false
  run.executed = { total: total + 1, since: isNewHour ? now.toISOString() : since, inHour: used + 1 }
  return true
}
