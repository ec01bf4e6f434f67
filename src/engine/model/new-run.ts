import { idAfter } from './derive-id.ts'
import type { RunState, JsonObject, MessageFacts } from './run.ts'
import type { StoredRun, RunTrigger } from './stored-run.ts'
import type { Subject, PublishedWorkflow } from './subject.ts'
import type { CompiledDefinition } from './compiled.ts'

export type NewRun = {
  id: string
  trigger: JsonObject
  input?: unknown
  message?: MessageFacts | null
  /** Values that replace the defaults of the definition. */
  variables?: JsonObject
  depth?: number
  parent?: RunState['parent']
}

export function queueRun(compiled: CompiledDefinition, start: NewRun, now: Date): RunState {
  const defaults = Object.entries(compiled.variables).map(([name, variable]) => [name, variable.default])
  return {
    id: start.id,
    ...initialState(now),
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

/** State of every run before it starts. */
function initialState(now: Date) {
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
 * Queues a new run that continues where a finished one stopped, with its state. `stepsCount` is the number of steps that
 * the new run copies; the step at which the old one stopped is executed again.
 */
export function queueResumption(
  finished: RunState,
  { id, stepsCount }: { id: string; stepsCount: number },
  now: Date,
): RunState {
  return {
    ...finished,
    id,
    ...initialState(now),
    stepsCount,
    idsCount: stepsCount,
    parent: null,
  }
}

/** The origin of a run and its mailbox. */
export type RunOrigin = {
  trigger: RunTrigger
  /** Id of the starting event: a workflow starts at most one run for each. */
  eventId: string
  contactId: string | null
  conversationId: string | null
  parentRunId?: string | null
  mailboxRunId?: string | null
  startedBy?: { type: string; id: string | null }
}

export type RunStart = RunOrigin & Omit<NewRun, 'trigger'>

/**
 * Returns the id of a new run, which sorts after the event that starts it and after `newest`, the newest active run of the
 * mailbox. So it does not depend on the clock of the process whether a run is newer than another.
 */
export function nextRunId(
  { eventId, parentRunId }: Pick<RunOrigin, 'eventId' | 'parentRunId'>,
  newest: StoredRun | undefined,
  randomId: string,
): string {
  const newestId = newest?.state.id ?? ''
  // The event of a child run is an id of its own, which its process has just made.
  return idAfter(!parentRunId && eventId > newestId ? eventId : newestId, randomId)
}

/** Creates a queued live run of a workflow's published version. */
export function newRun(workflow: PublishedWorkflow, start: RunStart, now: Date): StoredRun {
  return toStoredRun(workflow, queueRun(workflow.compiled, start, now), start)
}

/** Creates a live run around a queued state. */
export function toStoredRun(
  { workflowId, version }: Pick<PublishedWorkflow, 'workflowId' | 'version'>,
  state: RunState,
  { trigger, eventId, contactId, conversationId, ...origin }: RunOrigin,
): StoredRun {
  const { parentRunId = null, mailboxRunId = null, startedBy = { type: 'trigger', id: null } } = origin
  return {
    workflowId,
    workflowVersion: version,
    contactId,
    conversationId,
    parentRunId,
    mailboxRunId,
    mode: 'live',
    trigger,
    triggerEventId: eventId,
    replayOf: null,
    rootRunId: state.id,
    replayFromStepId: null,
    startedBy,
    messagesSent: 0,
    createdAt: new Date(state.queuedAt),
    state,
    wakeAt: null,
  }
}

/** Returns the place of a run that another run of the mailbox starts. */
export function subjectPlace({
  contactId,
  conversationId,
  mailbox,
}: Subject): Pick<RunOrigin, 'contactId' | 'conversationId' | 'mailboxRunId'> {
  return { contactId, conversationId, mailboxRunId: mailbox.kind === 'run' ? mailbox.id : null }
}
