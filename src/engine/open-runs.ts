import type { CompiledDefinition } from './compiled.ts'
import { splitAnswered } from './answers.ts'
import { collect, collectMore } from './debounce.ts'
import { decide } from './decide.ts'
import type { Decision, EngineEvent, ExternalEffect, PlacedEffect } from './decision.ts'
import { newRun } from './new-run.ts'
import type { Party, Published } from './party.ts'
import { recordPayload } from './record-payload.ts'
import { isSettled, type JsonObject, type MessageFacts, type StepRecord } from './run.ts'
import type { RunTrigger, StoredRun } from './run-store.ts'
import type { ExternalResult, Facts, StepRegistry } from './step.ts'

/** Workflows may wake each other this many times in a row. */
export const DEPTH_MAX = 8

export type Given = {
  now: Date
  registry: StepRegistry
  party: Party
  /** Not settled, the newest first. */
  runs: StoredRun[]
  published: Published[]
  /** By `workflowId:version`. */
  versions: Map<string, CompiledDefinition>
  newId: () => string
}

/** Why a run is started. */
export type Cause = {
  trigger: RunTrigger
  eventId: string
  depth: number
  message?: MessageFacts | null
  input?: unknown
  parent?: { runId: string; epoch: number }
  parentRunId?: string
  /** The customer may still be writing. */
  debounces?: boolean
}

/** The runs of one mailbox while it is brought forward: what each decides, the others see. Pure. */
export class OpenRuns {
  readonly changed = new Set<StoredRun>()
  readonly steps: { runId: string; step: StepRecord }[] = []
  readonly effects: { run: StoredRun; party: Party; placed: PlacedEffect[] }[] = []
  #isPaused: boolean
  #isPausedByReply: boolean
  readonly #given: Given
  readonly #runs: StoredRun[]
  #facts: Omit<Facts, 'workflow'>

  constructor(given: Given) {
    const { contact, conversation, workspace, isPaused, isPausedByReply } = given.party
    this.#given = given
    this.#runs = [...given.runs]
    this.#facts = { contact, conversation, workspace }
    this.#isPaused = isPaused
    this.#isPausedByReply = isPausedByReply
  }

  factsFor({ workflowId: id, name, version }: Published): Facts {
    return { ...this.#facts, workflow: { id, name, version } }
  }

  /** Whether a person talks, and the workflow leaves the conversation to them. */
  isHeld({ settings }: CompiledDefinition): boolean {
    return this.#isPaused && (settings.pauseOnHumanReply || !this.#isPausedByReply)
  }

  isHeldRun(run: StoredRun): boolean {
    return this.isHeld(this.#definitionOf(run).compiled)
  }

  find(runId: unknown): StoredRun | undefined {
    return this.#runs.find(({ state }) => state.id === runId)
  }

  /** Those that may go on now, the newest first. */
  waitingFor(what: 'reply' | 'event'): StoredRun[] {
    return this.#runs.filter((run) => run.state.waiting?.for === what && !this.isHeldRun(run))
  }

  tell(runId: unknown, event: EngineEvent): void {
    const run = this.find(runId)
    if (run) this.advance(run, event)
  }

  wakeLater(runId: unknown, at: Date): void {
    const run = this.find(runId)
    if (!run || isSettled(run.state)) return
    run.wakeAt = at.toISOString()
    this.changed.add(run)
  }

  /** Begins a run that was queued from outside. One whose workflow takes turns waits for those before it. */
  begin(runId: unknown): void {
    const run = this.find(runId)
    if (run && !this.#mustQueue(run)) this.advance(run, { type: 'started' })
  }

  /** Adds a message to the runs that have not begun because the customer may still be writing. False if there are none. */
  collect(message: MessageFacts): boolean {
    const collecting = this.#runs.filter((run) => run.state.collecting && !isSettled(run.state) && !this.isHeldRun(run))
    for (const run of collecting) {
      const { debounceMs } = this.#definitionOf(run).compiled.settings
      run.state = collectMore(run.state, message, this.#given.now, debounceMs)
      run.wakeAt = run.state.collecting?.until ?? null
      this.changed.add(run)
    }
    return collecting.length > 0
  }

  /** False if the run has no use for the event. */
  advance(run: StoredRun, event: EngineEvent): boolean {
    const { registry, now, party } = this.#given
    const definition = this.#definitionOf(run)
    const { compiled } = definition
    const decision = decide({ compiled, run: run.state, event, facts: this.factsFor(definition), now, registry })
    if (!decision.consumed) return false
    run.hasBegun ||= run.state.startedAt === null && decision.run.startedAt !== null
    run.state = decision.run
    run.wakeAt = decision.wait?.wakeAt ?? null
    run.messagesSent += decision.effects.filter(({ effect }) => 'messageId' in effect).length
    const { contact, conversation, workspace } = decision.facts
    this.#facts = { contact, conversation: conversation && { ...conversation, ...newestOf(decision) }, workspace }
    if (decision.effects.some(({ effect }) => effect.type === 'handoff')) {
      this.#isPaused = true
      this.#isPausedByReply = false
    }
    this.changed.add(run)
    this.steps.push(...decision.steps.map((step) => ({ runId: run.state.id, step: redact(step, run) })))
    const [answered, wanted] = splitAnswered(run.state, decision.effects)
    const placed = wanted.filter(({ effect }) => !isChild(effect))
    if (placed.length > 0) this.effects.push({ run, party, placed })
    for (const event of answered) this.advance(run, event)
    for (const { effect } of wanted) if (isChild(effect)) this.#startChild(run, effect)
    if (isSettled(run.state)) this.#followUp(run)
    return true
  }

  /** Undefined if the workflow's re-entry policy forbids another run now. */
  start(workflow: Published, cause: Cause): StoredRun | undefined {
    const { now, versions, party, newId } = this.#given
    const { settings } = workflow.compiled
    const others = this.#runs.filter((run) => isUnderWay(run, workflow.workflowId))
    if (others.length > 0 && settings.reentry === 'ignore') return undefined
    if (settings.reentry === 'restart') for (const other of others) this.advance(other, { type: 'canceled' })
    versions.set(`${workflow.workflowId}:${workflow.version}`, workflow.compiled)
    const { contactId, conversationId } = party
    const { debounces, ...beginning } = cause
    const run = newRun(workflow, { id: newId(), contactId, conversationId, ...beginning }, now)
    this.#runs.unshift(run)
    this.changed.add(run)
    if (others.length > 0 && settings.reentry === 'queue') return run
    if (debounces && settings.debounceMs > 0) {
      run.state = collect(run.state, now, settings.debounceMs)
      run.wakeAt = run.state.collecting?.until ?? null
    } else {
      this.advance(run, { type: 'started' })
    }
    return run
  }

  #startChild({ state: { id, depth, message } }: StoredRun, { epoch, request }: ExternalEffect): void {
    const answer = (result: ExternalResult) => this.tell(id, { type: 'external_result', epoch, result })
    const workflow = this.#given.published.find(({ workflowId }) => workflowId === request['workflowId'])
    if (!workflow) return answer(refuse('workflow_not_published', 'The workflow to run is not published'))
    if (depth >= DEPTH_MAX) return answer(refuse('too_deep', `Workflows may run each other ${DEPTH_MAX} deep`))
    const isAwaited = request['wait'] === true
    const child = this.start(workflow, {
      trigger: { type: 'workflow', messageId: null, runId: id },
      parentRunId: id,
      eventId: this.#given.newId(),
      message,
      input: request['input'],
      depth: depth + 1,
      ...(isAwaited ? { parent: { runId: id, epoch } } : {}),
    })
    if (!child) return answer(refuse('already_running', 'The workflow is already running for this contact'))
    if (!isAwaited) answer({ ok: true, output: { runId: child.state.id } })
  }

  /** What the end of a run means: those it ran end with it, whoever waits for it goes on, whoever queued behind it begins. */
  #followUp({ workflowId, state: { id, parent, status, output, error } }: StoredRun): void {
    const children = this.#runs.filter(({ state }) => state.parent?.runId === id && !isSettled(state))
    for (const child of children) this.advance(child, { type: 'canceled' })
    if (parent) {
      const message = error?.message ?? `The run of the other workflow was ${status}`
      const isDone = status === 'completed'
      const result = isDone ? { ok: true as const, output: { runId: id, output } } : refuse('workflow_failed', message)
      this.tell(parent.runId, { type: 'external_result', epoch: parent.epoch, result })
    }
    const next = this.#runs.findLast((run) => run.workflowId === workflowId && isQueued(run))
    if (next && !this.#mustQueue(next)) this.advance(next, { type: 'started' })
  }

  #mustQueue(run: StoredRun): boolean {
    if (this.#definitionOf(run).compiled.settings.reentry !== 'queue') return false
    return this.#runs.some((other) => isUnderWay(other, run.workflowId) && other.state.id < run.state.id)
  }

  #definitionOf({ workflowId, workflowVersion: version }: StoredRun): Published {
    const { published, versions } = this.#given
    const compiled = versions.get(`${workflowId}:${version}`)
    if (!compiled) throw new Error(`version ${version} of workflow ${workflowId} was not loaded`)
    const name = published.find((workflow) => workflow.workflowId === workflowId)?.name ?? ''
    return { workflowId, name, version, compiled }
  }
}

function refuse(code: string, message: string): ExternalResult {
  return { ok: false, error: { code, message, retryable: false } }
}

function isChild(effect: PlacedEffect['effect']): effect is ExternalEffect {
  return effect.type === 'external' && (effect as ExternalEffect).request['type'] === 'run_workflow'
}

function isQueued({ state: { status, collecting } }: StoredRun): boolean {
  return status === 'queued' && collecting === null
}

function isUnderWay({ workflowId, state }: StoredRun, wanted: string): boolean {
  return workflowId === wanted && !isSettled(state)
}

function redact(step: StepRecord, { state: { sensitive, variables } }: StoredRun): StepRecord {
  const secrets = sensitive.flatMap((name) => (typeof variables[name] === 'string' ? [variables[name]] : []))
  return { ...step, input: recordPayload(step.input, secrets), output: recordPayload(step.output, secrets) }
}

/** What the decision said last: whatever is said next has to come after it. */
function newestOf({ effects }: Decision): JsonObject {
  const newest = effects.findLast(({ effect }) => 'messageId' in effect)
  return newest ? { lastMessageId: newest.effect['messageId'] } : {}
}
