import { addMs, DAY } from '../../platform/time.ts'
import type { EffectRequest, ExternalCall } from '../model/decision.ts'
import { deriveId } from '../model/derive-id.ts'
import type { Registry } from '../model/registry.ts'
import type { JsonObject, MessageFacts, RunState, StepRecord } from '../model/run.ts'
import type { ExternalResult } from '../model/step.ts'
import type { PublishedWorkflow, Subject } from '../model/subject.ts'
import type { TriggerEvent } from '../model/trigger.ts'
import { type SimulatedItem, SimulatedMailbox, type SimulatedRunRecord, type Timer } from './simulated-mailbox.ts'
import type { SimulatedWorld } from './simulated-world.ts'
import { type SimulationEnd, type SimulationLimit, toSimulationEnd } from './simulation-end.ts'

/** A message, an event or a lapse of time, `afterMs` after the previous entry. */
export type DialogueEntry =
  | { type: 'message'; body: string | null; afterMs: number; message?: Partial<MessageFacts> }
  | { type: 'event'; event: TriggerEvent; afterMs: number }
  | { type: 'advance'; afterMs: number }

export type Simulation = {
  /** Start time on the virtual clock. */
  now: Date
  registry: Registry
  subject: Subject
  published: PublishedWorkflow[]
  /** A run that exists from the start; without it only the dialogue starts runs. */
  queued?: { workflow: PublishedWorkflow; state: RunState } | undefined
  dialogue: DialogueEntry[]
  /** Events that precede the first message; if there are any, it is the first one of the conversation. */
  opening?: TriggerEvent[]
  /** Events that the first message causes behind itself, unless it is preempted. */
  following?: TriggerEvent[]
  world: SimulatedWorld
  /** True once the simulation has taken too long in real time. */
  isOutOfTime?(): boolean
}

export type SimulatedRun = {
  id: string
  workflowId: string
  workflowVersion: number
  state: RunState
  steps: StepRecord[]
}

export type TranscriptEntry = {
  at: string
  from: 'customer' | 'workflow' | 'system'
  body: string | null
  buttons: unknown[]
  stepId: string | null
}

export type SimulationTrace = SimulationEnd & {
  runs: SimulatedRun[]
  transcript: TranscriptEntry[]
  effects: ({ at: string; runId: string; stepId: string; type: string } & JsonObject)[]
  /** Final time of the virtual clock. */
  finishedAt: string
}

const VIRTUAL_MS_MAX = 366 * DAY
const ITEMS_MAX = 5000
/** Result of an external call when none is known. */
const PLACEHOLDER: ExternalResult = { ok: true, output: { simulated: true } }

/**
 * Runs the live decision logic on a virtual clock that skips waits. It sends, calls and stores nothing, and the same
 * simulation gives the same trace, including all ids.
 */
export function simulate(simulation: Simulation): SimulationTrace {
  return new Simulator(simulation).run()
}

class Simulator {
  readonly #simulation: Simulation
  readonly #mailbox: SimulatedMailbox
  readonly #transcript: TranscriptEntry[] = []
  readonly #effects: SimulationTrace['effects'] = []
  #now: Date
  #idsCount = 0
  #itemsCount = 0
  #opening: TriggerEvent[]
  #following: TriggerEvent[]
  #limit: SimulationLimit | null = null

  constructor(simulation: Simulation) {
    const { registry, subject, published, now, opening = [], following = [], world } = simulation
    this.#simulation = simulation
    this.#now = now
    this.#opening = [...opening]
    this.#following = [...following]
    this.#mailbox = new SimulatedMailbox({
      registry,
      subject,
      published,
      subjectAt: (current, at) => world.subjectAt(current, at),
      newId: (at) => this.#newId(at),
    })
  }

  run(): SimulationTrace {
    const { queued, dialogue } = this.#simulation
    if (queued) {
      this.#mailbox.addQueued(queued.workflow, queued.state)
      this.#process({ content: { kind: 'start', payload: { runId: queued.state.id } } })
    }
    for (const entry of dialogue) this.#playEntry(entry)
    this.#fireRemainingTimers()
    const { runs, evaluations } = this.#mailbox
    const end = toSimulationEnd(runs, evaluations, this.#limit)
    const finishedAt = this.#now.toISOString()
    return { runs: runs.map(toSimulatedRun), transcript: this.#transcript, effects: this.#effects, finishedAt, ...end }
  }

  #playEntry(entry: DialogueEntry): void {
    const at = addMs(this.#now, entry.afterMs)
    this.#fireTimersUntil(at)
    if (this.#isStopped(at)) return
    this.#now = at
    if (entry.type === 'event') this.#emit(entry.event, 0)
    if (entry.type === 'message') this.#receive(entry)
  }

  #receive({ body, message }: DialogueEntry & { type: 'message' }): void {
    const { world } = this.#simulation
    const at = this.#now.toISOString()
    const opening = this.#opening.splice(0)
    this.#transcript.push({ at, from: 'customer', body, buttons: [], stepId: null })
    this.#mailbox.updateSubject(world.afterMessage(this.#mailbox.subject, this.#now))
    const received = { id: this.#newId(this.#now), body, type: 'text', content: null, at, ...message }
    const messageId = received.id
    const preemption = this.#handleKeyword(body)
    for (const opened of opening) {
      const event = { ...opened, ...preemption }
      this.#process({ content: { kind: 'event', payload: { event, messageId, depth: 0 } }, message: received })
    }
    const event = { ...world.toMessageEvent(this.#mailbox.subject, opening.length > 0), ...preemption }
    this.#process({ content: { kind: 'message', payload: { messageId, event } }, message: received })
    const following = this.#following.splice(0)
    if (preemption.consentKeyword !== undefined) return
    for (const caused of following) {
      this.#process({ content: { kind: 'event', payload: { event: caused, messageId, depth: 0 } }, message: received })
    }
  }

  #handleKeyword(body: string | null): { consentKeyword?: string } {
    const handled = this.#simulation.world.handleKeyword?.(this.#mailbox.subject, body)
    if (!handled) return {}
    const { consentKeyword, subject, confirmation } = handled
    this.#mailbox.updateSubject(subject)
    const at = this.#now.toISOString()
    if (confirmation !== null) {
      this.#transcript.push({ at, from: 'system', body: confirmation, buttons: [], stepId: null })
    }
    return { consentKeyword }
  }

  #emit(event: TriggerEvent, depth: number): void {
    this.#process({ content: { kind: 'event', payload: { event, messageId: null, depth } } })
  }

  /** Processes one item, then everything that its effects and calls cause. */
  #process(item: SimulatedItem): void {
    if (this.#isStopped(this.#now)) return
    this.#itemsCount += 1
    const { effects, calls } = this.#mailbox.process(item, this.#now)
    for (const { run, request } of effects) this.#recordEffect(run, request)
    for (const { run, call } of calls) this.#recordCall(run, call)
    for (const { run, request } of effects) {
      const events = this.#simulation.world.listEvents(request.effect)
      for (const event of events) this.#emit(event, run.stored.state.depth + 1)
    }
    for (const { run, call } of calls) this.#answerCall(run, call)
  }

  #recordEffect(run: SimulatedRunRecord, { stepId, effect }: EffectRequest): void {
    const at = this.#now.toISOString()
    const { type, ...fields } = effect
    this.#effects.push({ ...fields, at, runId: run.stored.state.id, stepId, type })
    const sent = this.#simulation.registry.effects.get(type)?.message(effect)
    if (sent) this.#transcript.push({ at, from: 'workflow', body: sent.body, buttons: [...sent.buttons], stepId })
  }

  #recordCall(run: SimulatedRunRecord, call: ExternalCall): void {
    const { target, stepId, epoch, attempt, timeoutMs, request } = call
    const fields = { epoch, attempt, timeoutMs, request }
    this.#effects.push({ ...fields, at: this.#now.toISOString(), runId: run.stored.state.id, stepId, type: target })
  }

  #answerCall(run: SimulatedRunRecord, { stepId, epoch, request }: ExternalCall): void {
    const { id, open, trigger } = run.stored.state
    if (!open) return
    const { iteration, attempt } = open
    const known = this.#simulation.world.callExternal({ trigger, stepId, iteration, attempt, request })
    this.#process({ content: { kind: 'result', payload: { runId: id, epoch, result: known ?? PLACEHOLDER } } })
  }

  /** Fires every timer that is due until then, each at its own time. */
  #fireTimersUntil(at: Date): void {
    let timer = this.#nextTimer()
    while (timer && timer.at <= at.getTime() && !this.#isStopped(at)) {
      if (timer.at > this.#now.getTime()) this.#now = new Date(timer.at)
      this.#process(timer.item)
      timer = this.#nextTimer()
    }
  }

  /** Lets time pass after the dialogue, for runs that wait for nothing but a timer. */
  #fireRemainingTimers(): void {
    const next = () => this.#nextTimer(({ isAwaited }) => isAwaited)
    for (let timer = next(); timer && Number.isFinite(timer.at); timer = next()) {
      const at = new Date(timer.at)
      if (this.#isStopped(at)) return
      this.#fireTimersUntil(at)
    }
  }

  #nextTimer(filter: (timer: Timer) => boolean = () => true): Timer | undefined {
    const [first, ...others] = this.#mailbox.listTimers().filter(filter)
    return first && others.reduce((earliest, timer) => (timer.at < earliest.at ? timer : earliest), first)
  }

  #isStopped(at: Date): boolean {
    this.#limit ??= this.#findLimit(at)
    return this.#limit !== null
  }

  #findLimit(at: Date): SimulationLimit | null {
    if (at.getTime() - this.#simulation.now.getTime() > VIRTUAL_MS_MAX) return 'virtual_time'
    if (this.#itemsCount >= ITEMS_MAX) return 'items'
    return this.#simulation.isOutOfTime?.() ? 'real_time' : null
  }

  #newId(now: Date): string {
    this.#idsCount += 1
    return deriveId('simulation', this.#idsCount, now.getTime())
  }
}

function toSimulatedRun({ stored: { state, workflowId, workflowVersion }, steps }: SimulatedRunRecord): SimulatedRun {
  const ordered = [...steps.values()].sort((a, b) => a.index - b.index)
  return { id: state.id, workflowId, workflowVersion, state, steps: ordered }
}
