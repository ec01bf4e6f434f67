import { countCascadesAmong } from '../mailbox/cascade-limiter.ts'
import type { ItemContent } from '../mailbox/item.ts'
import { workflowKey } from '../mailbox/mailbox-input.ts'
import { MailboxProcessor } from '../mailbox/processor.ts'
import type { EffectRequest, ExternalCall } from '../model/decision.ts'
import type { Effect } from '../model/effect.ts'
import type { Evaluation } from '../model/evaluation.ts'
import { toStoredRun } from '../model/new-run.ts'
import type { Registry } from '../model/registry.ts'
import { isFinished, type MessageFacts, type RunState, type StepRecord } from '../model/run.ts'
import type { StoredRun } from '../model/stored-run.ts'
import type { PublishedWorkflow, Subject } from '../model/subject.ts'

export type SimulatedRunRecord = { stored: StoredRun; steps: Map<number, StepRecord> }

/** The effects and calls of one item. */
export type ItemResult = {
  effects: { run: SimulatedRunRecord; request: EffectRequest }[]
  calls: { run: SimulatedRunRecord; call: ExternalCall }[]
}

/** An item with the message that it refers to. */
export type SimulatedItem = { content: ItemContent; message?: MessageFacts }

/** `isAwaited`: a run waits for nothing else. */
export type Timer = { at: number; item: SimulatedItem; isAwaited: boolean }

type Options = {
  registry: Registry
  subject: Subject
  published: PublishedWorkflow[]
  /** Returns the subject with the facts that depend on the time. */
  subjectAt(subject: Subject, now: Date): Subject
  newId(now: Date): string
}

const NEVER = Number.POSITIVE_INFINITY

/** A mailbox in memory that processes one item at a time. */
export class SimulatedMailbox {
  /** In the order in which they were started. */
  readonly runs: SimulatedRunRecord[] = []
  /** Evaluations of events that started nothing. */
  readonly evaluations: Evaluation[] = []
  readonly #options: Options
  readonly #versions: Map<string, PublishedWorkflow>
  readonly #postponed: Timer[] = []
  #subject: Subject
  /** End of a person's takeover. */
  #pausedUntil: number

  constructor(options: Options) {
    this.#options = options
    this.#subject = options.subject
    this.#pausedUntil = options.subject.isPaused ? NEVER : 0
    this.#versions = new Map(options.published.map((workflow) => [workflowKey(workflow), workflow]))
  }

  get subject(): Subject {
    return this.#subject
  }

  updateSubject(subject: Subject): void {
    this.#subject = subject
  }

  /** Adds a queued run, which an item of kind `start` starts. */
  addQueued(workflow: PublishedWorkflow, state: RunState): void {
    this.#versions.set(workflowKey(workflow), workflow)
    const { contactId, conversationId } = this.#subject
    const trigger = { messageId: null, ...state.trigger, type: String(state.trigger['type']) }
    const stored = toStoredRun(workflow, state, { trigger, eventId: state.id, contactId, conversationId })
    this.runs.push({ stored, steps: new Map() })
  }

  /** Lists pending timers with their due times, none before the end of a person's takeover. */
  listTimers(): Timer[] {
    const timers = this.runs.flatMap(({ stored: { wakeAt, state } }): Timer[] => {
      if (wakeAt === null) return []
      const content: ItemContent = { kind: 'timer', payload: { runId: state.id, epoch: state.epoch } }
      const isAwaited = state.debouncing !== null || state.waiting?.for === 'timer'
      return [{ at: Date.parse(wakeAt), item: { content }, isAwaited }]
    })
    return [...timers, ...this.#postponed].map((timer) => ({ ...timer, at: Math.max(timer.at, this.#pausedUntil) }))
  }

  process(item: SimulatedItem, now: Date): ItemResult {
    this.#removeTimer(item)
    const { registry, published, newId } = this.#options
    const subject = this.#subjectAt(now)
    const stored = this.runs.map((run) => run.stored)
    const { message } = item
    const processor = new MailboxProcessor({
      now,
      registry,
      subject,
      cascades: countCascadesAmong(stored, now),
      published,
      runs: stored.filter(({ state }) => !isFinished(state)).toReversed(),
      versions: this.#versions,
      messages: new Map(message ? [[message.id, message]] : []),
      newId: () => newId(now),
    })
    processor.handle({ id: newId(now), mailbox: subject.mailbox, attempts: 0, ...item.content })
    for (const { id: _, mailbox: _mailbox, dueAt = now, ...content } of processor.postponed) {
      this.#postponed.push({ at: dueAt.getTime(), item: { content }, isAwaited: true })
    }
    return this.#apply(processor)
  }

  #removeTimer(item: SimulatedItem): void {
    const index = this.#postponed.findIndex((timer) => timer.item === item)
    if (index >= 0) this.#postponed.splice(index, 1)
    const { kind, payload } = item.content
    const run = kind === 'timer' && this.runs.find(({ stored }) => stored.state.id === payload.runId)
    if (run) run.stored.wakeAt = null
  }

  #subjectAt(now: Date): Subject {
    const isPaused = this.#pausedUntil > now.getTime()
    return { ...this.#options.subjectAt(this.#subject, now), isPaused }
  }

  #apply({ runs, evaluated }: MailboxProcessor): ItemResult {
    for (const stored of runs.changed) if (!this.#find(stored)) this.runs.push({ stored, steps: new Map() })
    for (const { runId, step } of runs.steps) {
      this.runs.find(({ stored }) => stored.state.id === runId)?.steps.set(step.index, step)
    }
    for (const { evaluations } of evaluated) this.evaluations.push(...evaluations)
    const { contact, conversation } = runs.facts
    this.#subject = { ...this.#subject, contact, conversation }
    const effects = runs.effects.flatMap(({ run: stored, requests }) => {
      const run = this.#find(stored)
      return run ? requests.map((request) => ({ run, request })) : []
    })
    for (const { request } of effects) this.#applyTakeover(request.effect)
    const calls = runs.calls.flatMap(({ run: stored, call }) => {
      const run = this.#find(stored)
      return run ? [{ run, call }] : []
    })
    return { effects, calls }
  }

  #applyTakeover(effect: Effect): void {
    const type = this.#options.registry.effects.get(effect.type)
    if (type?.resumesAutomation) this.#pausedUntil = 0
    const pause = type?.pausesAutomation(effect)
    if (pause) this.#pausedUntil = pause.until === null ? NEVER : Date.parse(pause.until)
  }

  #find(stored: StoredRun): SimulatedRunRecord | undefined {
    return this.runs.find((run) => run.stored === stored)
  }
}
