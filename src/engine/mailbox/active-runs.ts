import type { StoredRun } from '../model/stored-run.ts'
import { addMs, MINUTE } from '../../platform/time.ts'
import type { CompiledDefinition } from '../model/compiled.ts'
import { splitOverridden } from '../replay/step-output-overrides.ts'
import { CascadeLimiter } from './cascade-limiter.ts'
import { isChild, childError, childResult, CASCADE_RATE_LIMITED } from './child-result.ts'
import { startDebounce, appendMessage } from '../decide/debounce.ts'
import { decideRun } from '../decide/decide-run.ts'
import type { Decision, EngineEvent, ExternalEffect, EffectRequest } from '../model/decision.ts'
import type { StartRequest, MailboxInput } from './mailbox-input.ts'
import type { ItemKind, MailboxItem } from './mailbox.ts'
import { newRun, subjectPlace } from '../model/new-run.ts'
import type { Subject, PublishedWorkflow } from '../model/subject.ts'
import { redactStep } from '../redact/redact-step.ts'
import { isFinished, type JsonObject, type MessageFacts, type StepRecord } from '../model/run.ts'
import { HumanTakeover } from './human-takeover.ts'
import { isAwaitedBy, isOverdue, isQueued, isActive } from '../model/run-standing.ts'
import type { ExternalResult, Facts } from '../model/step.ts'

/** Workflows may wake each other this many times in a row. */
export const DEPTH_MAX = 8

const SNOOZE_MS = 15 * MINUTE

/** The runs of one mailbox while it is brought forward: what each decides, the others see. Pure. */
export class ActiveRuns {
  readonly changed = new Set<StoredRun>()
  readonly steps: { runId: string; step: StepRecord }[] = []
  readonly effects: { run: StoredRun; party: Subject; placed: EffectRequest[] }[] = []
  /** What nobody may go on with before a later time. */
  readonly postponed: { item: MailboxItem; dueAt: Date }[] = []
  readonly chained: CascadeLimiter
  readonly #pause: HumanTakeover
  readonly #input: MailboxInput
  readonly #runs: StoredRun[]
  #facts: Omit<Facts, 'workflow'>

  constructor(input: MailboxInput) {
    const { contact, conversation, workspace } = input.party
    this.#input = input
    this.#runs = [...input.runs]
    this.chained = new CascadeLimiter(input.chained)
    this.#facts = { contact, conversation, workspace }
    this.#pause = new HumanTakeover(input.party)
  }

  factsFor({ workflowId: id, name, version }: PublishedWorkflow): Facts {
    return { ...this.#facts, workflow: { id, name, version } }
  }

  /** Whether a person talks, and the workflow leaves the conversation to them. */
  isHeld(compiled: CompiledDefinition): boolean {
    return this.#pause.holds(compiled)
  }

  isHeldRun(run: StoredRun): boolean {
    return this.isHeld(this.#definitionOf(run).compiled)
  }

  find(runId: unknown): StoredRun | undefined {
    return this.#runs.find(({ state }) => state.id === runId)
  }

  /** The newest first, also those that a person holds up. */
  waitingFor(what: 'reply' | 'event'): StoredRun[] {
    return this.#runs.filter((run) => run.state.waiting?.for === what)
  }

  tell(runId: unknown, event: EngineEvent): void {
    const run = this.find(runId)
    if (run) this.advance(run, event)
  }

  /** The timer of an earlier wait is void. A run that is queued had its turn, but a person talked. */
  ring(run: StoredRun, epoch: number): void {
    if (run.state.epoch !== epoch || isFinished(run.state)) return
    if (this.isHeldRun(run)) this.#wakeLater(run)
    else if (isQueued(run)) this.begin(run.state.id)
    else this.advance(run, { type: 'timer', epoch })
  }

  /** Rings for the runs that have lasted too long already: their own timers may be late, and they stand in the way. */
  ringOverdue(): void {
    const now = this.#input.now.getTime()
    for (const run of this.#runs.filter(({ state }) => isOverdue(state, now))) {
      if (!this.isHeldRun(run)) this.advance(run, { type: 'timer', epoch: run.state.epoch })
    }
  }

  /** While a person talks, whatever would make a run go on comes again later. */
  postpone(item: MailboxItem): void {
    this.postponed.push({ item, dueAt: addMs(this.#input.now, SNOOZE_MS) })
  }

  postponeNew(kind: ItemKind, payload: JsonObject): void {
    const { newId, party } = this.#input
    this.postpone({ id: newId(), mailbox: party.mailbox, kind, payload, attempts: 0 })
  }

  /** Begins a run that was queued from outside. One whose workflow takes turns waits for those before it. */
  begin(runId: unknown): void {
    const run = this.find(runId)
    if (run && !this.#mustQueue(run)) this.advance(run, { type: 'started' })
  }

  /** Adds a message to the runs that have not begun because the customer may still be writing. False if there are none. */
  collect(message: MessageFacts): boolean {
    const debouncing = this.#runs.filter(
      (run) => run.state.debouncing && !isFinished(run.state) && !this.isHeldRun(run),
    )
    for (const run of debouncing) {
      const { debounceMs } = this.#definitionOf(run).compiled.settings
      run.state = appendMessage(run.state, message, this.#input.now, debounceMs)
      run.wakeAt = run.state.debouncing?.until ?? null
      this.changed.add(run)
    }
    return debouncing.length > 0
  }

  /** False if the run has no use for the event. */
  advance(run: StoredRun, event: EngineEvent): boolean {
    const { registry, now, party } = this.#input
    const definition = this.#definitionOf(run)
    const { compiled } = definition
    const decision = decideRun({ compiled, run: run.state, event, facts: this.factsFor(definition), now, registry })
    if (!decision.isConsumed) return false
    run.hasBegun ||= run.state.startedAt === null && decision.run.startedAt !== null
    run.state = decision.run
    run.wakeAt = decision.wait?.wakeAt ?? null
    run.messagesSent += decision.effects.filter(({ effect }) => 'messageId' in effect).length
    const { contact, conversation, workspace } = decision.facts
    this.#facts = { contact, conversation: conversation && { ...conversation, ...newestOf(decision) }, workspace }
    for (const { effect } of decision.effects) this.#pause.note(effect)
    this.changed.add(run)
    this.steps.push(...decision.steps.map((step) => ({ runId: run.state.id, step: redactStep(step, run.state) })))
    this.#cancelUnawaited(run)
    const [answered, wanted] = splitOverridden(run.state, decision.effects)
    const placed = wanted.filter(({ effect }) => !isChild(effect))
    if (placed.length > 0) this.effects.push({ run, party, placed })
    for (const event of answered) this.advance(run, event)
    for (const { effect } of wanted) if (isChild(effect)) this.#startChild(run, effect)
    // What was answered at once may have ended the run already, and that end was followed up then.
    if (isFinished(decision.run)) this.#followUp(run)
    return true
  }

  /** A run that another one waited for ends when that one goes on without it. */
  #cancelUnawaited({ state }: StoredRun): void {
    const children = this.#runs.filter((run) => run.state.parent?.runId === state.id && !isFinished(run.state))
    for (const child of children) if (!isAwaitedBy(child, state)) this.advance(child, { type: 'canceled' })
  }

  /** Undefined if the workflow's re-entry policy forbids another run now. */
  start(workflow: PublishedWorkflow, cause: StartRequest): StoredRun | undefined {
    const { now, versions, party, newId } = this.#input
    const { settings } = workflow.compiled
    const others = this.#runs.filter((run) => isActive(run, workflow.workflowId))
    if (others.length > 0 && settings.reentry === 'ignore') return undefined
    if (settings.reentry === 'restart') for (const other of others) this.advance(other, { type: 'canceled' })
    versions.set(`${workflow.workflowId}:${workflow.version}`, workflow)
    const { debounces, ...beginning } = cause
    const run = newRun(workflow, { id: newId(), ...subjectPlace(party), ...beginning }, now)
    this.#runs.unshift(run)
    this.changed.add(run)
    this.chained.note(run.workflowId, cause.depth)
    if (others.length > 0 && settings.reentry === 'queue') return run
    if (debounces && settings.debounceMs > 0) {
      run.state = startDebounce(run.state, now, settings.debounceMs)
      run.wakeAt = run.state.debouncing?.until ?? null
    } else {
      this.advance(run, { type: 'started' })
    }
    return run
  }

  #startChild({ state: { id, depth, message } }: StoredRun, { epoch, request }: ExternalEffect): void {
    const answer = (result: ExternalResult) => this.tell(id, { type: 'external_result', epoch, result })
    const workflow = this.#input.published.find(({ workflowId }) => workflowId === request['workflowId'])
    if (!workflow) return answer(childError('workflow_not_published', 'The workflow to run is not published'))
    if (depth >= DEPTH_MAX)
      return answer(childError('max_depth_exceeded', `Workflows may run each other ${DEPTH_MAX} deep`))
    if (this.chained.isFull(workflow.workflowId, depth + 1)) return answer(CASCADE_RATE_LIMITED)
    const isAwaited = request['wait'] === true
    if (isAwaited && workflow.compiled.settings.reentry === 'queue' && this.#hasAncestor(id, workflow.workflowId)) {
      return answer(childError('already_running', 'The workflow is already running, and waits for this run'))
    }
    const child = this.start(workflow, {
      trigger: { type: 'workflow', messageId: null, runId: id },
      parentRunId: id,
      eventId: this.#input.newId(),
      message,
      input: request['input'],
      depth: depth + 1,
      ...(isAwaited ? { parent: { runId: id, epoch } } : {}),
    })
    if (!child) return answer(childError('already_running', 'The workflow is already running for this contact'))
    if (!isAwaited) answer({ ok: true, output: { runId: child.state.id } })
  }

  #wakeLater(run: StoredRun): void {
    run.wakeAt = addMs(this.#input.now, SNOOZE_MS).toISOString()
    this.changed.add(run)
  }

  /** Whether a run of the workflow waits for this one, or is it: behind that one none could ever take its turn. */
  #hasAncestor(runId: string, workflowId: string): boolean {
    const run = this.find(runId)
    if (!run) return false
    return run.workflowId === workflowId || this.#hasAncestor(run.state.parent?.runId ?? '', workflowId)
  }

  /** What the end of a run means: whoever waits for it goes on, whoever queued behind it begins. */
  #followUp({ workflowId, state }: StoredRun): void {
    if (state.parent) this.#tellParent(state.parent, childResult(state))
    const next = this.#runs.findLast((run) => run.workflowId === workflowId && isQueued(run))
    if (!next || this.#mustQueue(next)) return
    if (this.isHeldRun(next)) this.#wakeLater(next)
    else this.advance(next, { type: 'started' })
  }

  #tellParent({ runId, epoch }: { runId: string; epoch: number }, result: ExternalResult): void {
    const run = this.find(runId)
    if (!run || isFinished(run.state) || run.state.epoch !== epoch) return
    if (this.isHeldRun(run)) this.postponeNew('result', { runId, epoch, result })
    else this.advance(run, { type: 'external_result', epoch, result })
  }

  /** Behind those that have begun, and those that were queued before: clocks of two machines may differ. */
  #mustQueue({ workflowId, workflowVersion, state: { id } }: StoredRun): boolean {
    if (this.#definitionOf({ workflowId, workflowVersion }).compiled.settings.reentry !== 'queue') return false
    return this.#runs.some(
      (other) => isActive(other, workflowId) && other.state.id !== id && (!isQueued(other) || other.state.id < id),
    )
  }

  #definitionOf({
    workflowId,
    workflowVersion: version,
  }: Pick<StoredRun, 'workflowId' | 'workflowVersion'>): PublishedWorkflow {
    const workflow = this.#input.versions.get(`${workflowId}:${version}`)
    if (!workflow) throw new Error(`version ${version} of workflow ${workflowId} was not loaded`)
    return workflow
  }
}

/** What the decision said last: whatever is said next has to come after it. */
function newestOf({ effects }: Decision): JsonObject {
  const newest = effects.findLast(({ effect }) => 'messageId' in effect)
  return newest ? { lastMessageId: newest.effect['messageId'] } : {}
}
