import { addMs, MINUTE } from '../../platform/time.ts'
import { appendMessage, startDebounce } from '../decide/debounce.ts'
import { decideRun } from '../decide/decide.ts'
import { CorruptRunError } from '../model/corrupt-run-error.ts'
import type { ChildRunCall, Decision, EffectRequest, EngineEvent, ExternalCall } from '../model/decision.ts'
import { newRun, nextRunId, subjectPlace } from '../model/new-run.ts'
import { isActive, isOverdue, isQueued, type StoredRun } from '../model/stored-run.ts'
import { isFinished, type MessageFacts, type StepRecord } from '../model/run.ts'
import type { ExternalResult, Facts } from '../model/step.ts'
import type { PublishedWorkflow, Subject } from '../model/subject.ts'
import { redactStep } from '../redact/redact-step.ts'
import { findOverride } from '../replay/step-output-overrides.ts'
import { CascadeLimiter } from './cascade-limiter.ts'
import { ALREADY_RUNNING, childResult, listUnawaitedChildren, planChildRun } from './child-runs.ts'
import { HumanTakeover } from './human-takeover.ts'
import type { ItemContent, MailboxItem, NewItem } from './item.ts'
import { type MailboxInput, type StartRequest, workflowKey } from './mailbox-input.ts'
import { Settings } from '../language/definition/settings.ts'
import type { CompiledDefinition } from '../model/compiled.ts'

const EMPTY_DEFINITION: CompiledDefinition = {
  version: 1,
  triggers: [],
  settings: Settings.parse({}),
  variables: {},
  steps: [],
  index: {},
}

const POSTPONE_MS = 15 * MINUTE

const CONTACT_BLOCKED = { code: 'contact_blocked', message: 'The run was canceled because its contact is blocked.' }

/** `secrets`: values of sensitive variables that the effects may contain. */
export type RunEffects = { run: StoredRun; subject: Subject; requests: EffectRequest[]; secrets: readonly string[] }

/** The runs of one mailbox while it is processed: each decision is visible to the next. Pure. */
export class ActiveRuns {
  readonly changed = new Set<StoredRun>()
  readonly steps: { runId: string; step: StepRecord }[] = []
  readonly effects: RunEffects[] = []
  readonly calls: { run: StoredRun; call: ExternalCall }[] = []
  /** Items to put back, because a person has taken over. */
  readonly postponed: NewItem[] = []
  readonly cascades: CascadeLimiter
  readonly #takeover: HumanTakeover
  readonly #input: MailboxInput
  readonly #runs: StoredRun[]
  #facts: Omit<Facts, 'workflow'>

  constructor(input: MailboxInput) {
    const { contact, conversation, workspace } = input.subject
    this.#input = input
    this.#runs = [...input.runs]
    this.cascades = new CascadeLimiter(input.cascades)
    this.#facts = { contact, conversation, workspace }
    this.#takeover = new HumanTakeover(input.subject, input.registry.effects)
  }

  /** The facts after all decisions so far. */
  get facts(): Omit<Facts, 'workflow'> {
    return this.#facts
  }

  factsFor({ workflowId: id, name, version, resources = {} }: PublishedWorkflow): Facts {
    return { ...this.#facts, workflow: { id, name, version }, resources }
  }

  /** True if a person has taken over and the workflow must not run beside them. */
  isPausedFor({ compiled }: PublishedWorkflow): boolean {
    return this.#takeover.isPausedFor(compiled.settings)
  }

  isPaused(run: StoredRun): boolean {
    return this.isPausedFor(this.#getWorkflow(run))
  }

  find(runId: string): StoredRun | undefined {
    return this.#runs.find(({ state }) => state.id === runId)
  }

  /** Lists waiting runs, the newest first, including paused ones. */
  listWaiting(awaited: 'reply' | 'event'): StoredRun[] {
    return this.#runs.filter((run) => run.state.waiting?.for === awaited)
  }

  dispatch(runId: string, event: EngineEvent): void {
    const run = this.find(runId)
    if (run) this.advance(run, event)
  }

  /** Fires a timer, unless it is one of an earlier wait. The timer of a queued run was set when a person took over. */
  fireTimer(run: StoredRun, epoch: number): void {
    if (run.state.epoch !== epoch || isFinished(run.state)) return
    if (this.isPaused(run)) this.#wakeLater(run)
    else if (isQueued(run)) this.startQueued(run.state.id)
    else this.advance(run, { type: 'timer', epoch })
  }

  /** Ends runs that have lasted too long, because their timers may be late and they block others. */
  expireOverdue(): void {
    const now = this.#input.now.getTime()
    for (const run of this.#runs.filter(({ state }) => isOverdue(state, now))) {
      if (!this.isPaused(run)) this.advance(run, { type: 'timer', epoch: run.state.epoch })
    }
  }

  /** Cancels all runs of a blocked contact, those that wait for others first. */
  cancelBlocked(): void {
    for (const run of this.#runs.toReversed()) this.advance(run, { type: 'canceled', error: CONTACT_BLOCKED })
  }

  /** Puts back an item that would continue a run while a person has taken over. */
  postpone(item: MailboxItem): void {
    this.postponed.push({ ...item, dueAt: addMs(this.#input.now, POSTPONE_MS) })
  }

  postponeNew(content: ItemContent): void {
    const { newId, subject } = this.#input
    this.postpone({ id: newId(), mailbox: subject.mailbox, attempts: 0, ...content })
  }

  /** Starts a queued run, unless its re-entry policy lets it wait behind others. */
  startQueued(runId: string): void {
    const run = this.find(runId)
    if (run && !this.#mustQueue(run)) this.advance(run, { type: 'started' })
  }

  /** Appends a message to the runs that debounce. Returns false if there are none. */
  appendMessage(message: MessageFacts): boolean {
    const debouncing = this.#runs.filter((run) => run.state.debouncing && !isFinished(run.state) && !this.isPaused(run))
    for (const run of debouncing) {
      const { debounceMs } = this.#getWorkflow(run).compiled.settings
      run.state = appendMessage(run.state, message, this.#input.now, debounceMs)
      run.wakeAt = run.state.debouncing?.until ?? null
      this.changed.add(run)
    }
    return debouncing.length > 0
  }

  /** Returns false if the run does not consume the event. */
  advance(run: StoredRun, event: EngineEvent): boolean {
    const { registry, now } = this.#input
    // A run can fail without its workflow, which may be the reason why it fails.
    const workflow =
      event.type === 'failed' ? (this.#findWorkflow(run) ?? toEmptyWorkflow(run)) : this.#getWorkflow(run)
    const { workflowId, compiled } = workflow
    const facts = this.factsFor(workflow)
    const decision = decideRun({ workflowId, compiled, run: run.state, event, facts, now, registry })
    if (!decision.isConsumed) return false
    run.hasStarted ||= run.state.startedAt === null && decision.run.startedAt !== null
    run.state = decision.run
    run.wakeAt = decision.wait?.wakeAt ?? null
    this.changed.add(run)
    for (const step of decision.steps) {
      this.steps.push({ runId: run.state.id, step: redactStep(step, decision.secrets) })
    }
    this.#applyEffects(run, decision)
    const cancellation = event.type === 'canceled' ? event : ({ type: 'canceled' } as const)
    for (const child of listUnawaitedChildren(run, this.#runs)) this.advance(child, cancellation)
    if (decision.call) this.#makeCall(run, decision.call)
    // A call that was answered at once may have finished the run already, and that end was followed up then.
    if (isFinished(decision.run)) this.#followUp(run)
    return true
  }

  #applyEffects(run: StoredRun, { facts, effects, secrets }: Decision): void {
    const { contact, conversation, workspace } = facts
    const { registry, subject } = this.#input
    const sent = effects.flatMap(({ effect }) => registry.effects.get(effect.type)?.message(effect) ?? [])
    run.messagesSent += sent.length
    // Ids of later messages must sort after the newest one.
    const newest = sent.at(-1)
    const lastMessage = newest ? { lastMessageId: newest.id } : {}
    this.#facts = { contact, conversation: conversation && { ...conversation, ...lastMessage }, workspace }
    for (const { effect } of effects) this.#takeover.apply(effect)
    if (effects.length > 0) this.effects.push({ run, subject, requests: effects, secrets })
  }

  #makeCall(run: StoredRun, call: ExternalCall | ChildRunCall): void {
    const { stepOutputOverrides = {}, open } = run.state
    const result = findOverride(stepOutputOverrides, call.stepId, open?.iteration ?? 0)
    if (result) this.advance(run, { type: 'external_result', epoch: call.epoch, result })
    else if (call.target === 'workflow') this.#startChild(run, call)
    else this.calls.push({ run, call })
  }

  /** Returns undefined if the workflow's re-entry policy forbids another run now. */
  start(workflow: PublishedWorkflow, request: StartRequest): StoredRun | undefined {
    const { now, versions, subject, newId } = this.#input
    const { settings } = workflow.compiled
    const active = this.#runs.filter((run) => isActive(run, workflow.workflowId))
    const admission = admit(settings, active)
    if (admission === 'reject') return undefined
    if (admission === 'replace') for (const other of active) this.advance(other, { type: 'canceled' })
    versions.set(workflowKey(workflow), workflow)
    const { debounces, ...origin } = request
    const id = nextRunId(request, this.#runs[0], newId())
    const run: StoredRun = { ...newRun(workflow, { id, ...subjectPlace(subject), ...origin }, now), isNew: true }
    this.#runs.unshift(run)
    this.changed.add(run)
    this.cascades.add(run.workflowId, request.depth)
    if (admission === 'queue') return run
    if (debounces && settings.debounceMs > 0) {
      run.state = startDebounce(run.state, now, settings.debounceMs)
      run.wakeAt = run.state.debouncing?.until ?? null
    } else {
      this.advance(run, { type: 'started' })
    }
    return run
  }

  #startChild(parent: StoredRun, call: ChildRunCall): void {
    const { published, newId } = this.#input
    const parentId = parent.state.id
    const respond = (result: ExternalResult) =>
      this.dispatch(parentId, { type: 'external_result', epoch: call.epoch, result })
    const plan = planChildRun(parent, call, { runs: this.#runs, published, cascades: this.cascades, newId })
    if ('result' in plan) return respond(plan.result)
    const child = this.start(plan.workflow, plan.request)
    if (!child) return respond(ALREADY_RUNNING)
    if (!call.isAwaited) respond({ ok: true, output: { runId: child.state.id } })
  }

  #wakeLater(run: StoredRun): void {
    run.wakeAt = addMs(this.#input.now, POSTPONE_MS).toISOString()
    this.changed.add(run)
  }

  /** Reacts to the end of a run: its parent continues, and the next run in the queue starts. */
  #followUp({ workflowId, state }: StoredRun): void {
    if (this.#input.subject.isBlocked) return
    if (state.parent) this.#resumeParent(state.parent, childResult(state))
    const next = findNextQueued(this.#runs, workflowId)
    if (!next || this.#mustQueue(next)) return
    if (this.isPaused(next)) this.#wakeLater(next)
    else this.advance(next, { type: 'started' })
  }

  #resumeParent({ runId, epoch }: { runId: string; epoch: number }, result: ExternalResult): void {
    const run = this.find(runId)
    if (!run || isFinished(run.state) || run.state.epoch !== epoch) return
    if (this.isPaused(run)) this.postponeNew({ kind: 'result', payload: { runId, epoch, result } })
    else this.advance(run, { type: 'external_result', epoch, result })
  }

  #mustQueue(run: StoredRun): boolean {
    return this.#getWorkflow(run).compiled.settings.reentry === 'queue' && isBehindAnother(run, this.#runs)
  }

  #getWorkflow(run: StoredRun): PublishedWorkflow {
    const workflow = this.#findWorkflow(run)
    if (workflow) return workflow
    throw new CorruptRunError(run.state, run.workflowId, new Error(`version ${run.workflowVersion} cannot be executed`))
  }

  #findWorkflow({ workflowId, workflowVersion: version }: StoredRun): PublishedWorkflow | undefined {
    return this.#input.versions.get(workflowKey({ workflowId, version }))
  }
}

/** Stands for the workflow of a run whose version cannot be read. */
function toEmptyWorkflow({ workflowId, workflowVersion: version }: StoredRun): PublishedWorkflow {
  return { workflowId, name: '', version, compiled: EMPTY_DEFINITION }
}

type Admission = 'reject' | 'replace' | 'queue' | 'start'

/** Applies the re-entry policy of a workflow to a new run beside `active` ones. */
function admit({ reentry }: Settings, active: StoredRun[]): Admission {
  if (active.length === 0) return 'start'
  switch (reentry) {
    case 'ignore':
      return 'reject'
    case 'restart':
      return 'replace'
    case 'queue':
      return 'queue'
    case 'parallel':
      return 'start'
  }
}

/** Finds the oldest queued run of a workflow. `runs` has the newest first. */
function findNextQueued(runs: StoredRun[], workflowId: string): StoredRun | undefined {
  return runs.findLast((run) => run.workflowId === workflowId && isQueued(run))
}

/** True behind a run that has started or has a lower id: creation times are not compared, because clocks may differ. */
function isBehindAnother({ workflowId, state: { id } }: StoredRun, runs: StoredRun[]): boolean {
  return runs.some(
    (other) => isActive(other, workflowId) && other.state.id !== id && (!isQueued(other) || other.state.id < id),
  )
}
