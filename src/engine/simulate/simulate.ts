import { addMs, DAY } from '../../platform/time.ts'
import { deriveId } from '../model/derive-id.ts'
import { toSimulationEnd, type SimulationEnd } from './simulation-result.ts'
import type { TriggerEvent } from '../mailbox/match-trigger.ts'
import type { Subject, PublishedWorkflow } from '../model/subject.ts'
import type { JsonObject, MessageFacts, RunState, StepRecord } from '../model/run.ts'
import {
  type Timer,
  type Item,
  type RunEffect,
  type SimulatedRunRecord,
  SimulatedMailbox,
} from './simulated-mailbox.ts'
import type { Effect, ExternalResult, StepRegistry } from '../model/step.ts'

/** What the customer does or what happens, and how long after what came before. */
export type DialogueEntry =
  | {
      type: 'message'
      body: string | null
      afterMs: number
      /** What else is known of it. */
      message?: Partial<MessageFacts>
    }
  | { type: 'event'; event: TriggerEvent; afterMs: number }
  | { type: 'advance'; afterMs: number }

export type Opening = 'contact_created' | 'conversation_opened'

/** A step that asked for something outside. */
export type ExternalRequest = {
  trigger: JsonObject
  stepId: string
  iteration: number
  attempt: number
  request: unknown
}

export type Simulation = {
  /** When it begins, on the clock of the simulation. */
  now: Date
  registry: StepRegistry
  party: Subject
  published: PublishedWorkflow[]
  /** A run that is there from the start, queued; else only the dialogue starts any. */
  queued?: { workflow: PublishedWorkflow; state: RunState } | undefined
  dialogue: DialogueEntry[]
  /** What the first message makes happen before it is taken; if anything, it is the first of the conversation. */
  opens?: Opening[]
  /** What the outside answers; undefined if nobody said, and a placeholder stands in. */
  answer(asked: ExternalRequest): ExternalResult | undefined
  /** What an effect makes happen besides, to which runs react. */
  raises?(effect: Effect): TriggerEvent[]
  /** True once it has taken too long in real time. */
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
  from: 'customer' | 'workflow'
  body: string | null
  buttons: unknown[]
  stepId: string | null
}

export type SimulationTrace = SimulationEnd & {
  runs: SimulatedRun[]
  transcript: TranscriptEntry[]
  effects: ({ at: string; runId: string; stepId: string; type: string } & JsonObject)[]
  /** Where the clock of the simulation stands. */
  endedAt: string
}

const VIRTUAL_MS_MAX = 366 * DAY
const MAIL_MAX = 5000
/** How long after a message free text may be sent. */
const WINDOW_MS = DAY
/** Stands for what a step would have been given by the outside. */
const PLACEHOLDER: ExternalResult = { ok: true, output: { simulated: true } }

/**
 * Plays a dialogue against workflows as it would go live, on a clock that jumps to whatever comes next, and does nothing
 * to the world. The same simulation comes to the same, to the last id.
 */
export function simulate(simulation: Simulation): SimulationTrace {
  return new Simulator(simulation).play()
}

class Simulator {
  readonly #simulation: Simulation
  readonly #mailbox: SimulatedMailbox
  readonly #transcript: TranscriptEntry[] = []
  readonly #effects: SimulationTrace['effects'] = []
  #now: Date
  #idsCount = 0
  #mailCount = 0
  #opens: Opening[]
  #stoppedBy: string | null = null

  constructor(simulation: Simulation) {
    const { registry, party, published, now, opens = [] } = simulation
    this.#simulation = simulation
    this.#now = now
    this.#opens = [...opens]
    this.#mailbox = new SimulatedMailbox({ registry, party, published, newId: (at) => this.#newId(at) })
  }

  play(): SimulationTrace {
    const { queued, dialogue } = this.#simulation
    if (queued) {
      this.#mailbox.put(queued.workflow, queued.state)
      this.#take({ kind: 'start', payload: { runId: queued.state.id } })
    }
    for (const entry of dialogue) this.#deliver(entry)
    this.#settleTimers()
    const { runs, refusals } = this.#mailbox
    const told = { transcript: this.#transcript, effects: this.#effects, endedAt: this.#now.toISOString() }
    const ending = toSimulationEnd(runs, refusals, this.#stoppedBy)
    return { runs: runs.map(presentRun), ...told, ...ending }
  }

  #deliver(entry: DialogueEntry): void {
    const at = addMs(this.#now, entry.afterMs)
    this.#ringUntil(at)
    if (this.#isOver(at)) return
    this.#now = at
    if (entry.type === 'event') this.#take({ kind: 'event', payload: { ...entry.event } })
    if (entry.type === 'message') this.#say(entry)
  }

  #say({ body, message }: DialogueEntry & { type: 'message' }): void {
    const at = this.#now.toISOString()
    const opened = this.#opens.splice(0)
    const isFirst = opened.length > 0
    this.#transcript.push({ at, from: 'customer', body, buttons: [], stepId: null })
    this.#mailbox.openWindow(this.#now, addMs(this.#now, WINDOW_MS))
    const said = { id: this.#newId(this.#now), body, type: 'text', content: null, at, ...message }
    for (const type of opened) this.#take({ kind: 'event', payload: { type, messageId: said.id }, message: said })
    this.#take({ kind: 'message', payload: { messageId: said.id, isFirst }, message: said })
  }

  /** Gives the mailbox one item, then whatever comes of that. */
  #take(mail: Item): void {
    if (this.#isOver(this.#now)) return
    this.#mailCount += 1
    const placed = this.#mailbox.handle(mail, this.#now)
    for (const one of placed) this.#note(one)
    for (const one of placed) this.#follow(one)
  }

  #note({ run, placed: { stepId, effect } }: RunEffect): void {
    const at = this.#now.toISOString()
    const { type, ...rest } = effect
    this.#effects.push({ ...rest, at, runId: run.stored.state.id, stepId, type })
    if (!('messageId' in effect)) return
    const { body, buttons } = effect
    const said = typeof body === 'string' ? body : null
    this.#transcript.push({ at, from: 'workflow', body: said, buttons: Array.isArray(buttons) ? buttons : [], stepId })
  }

  #follow({ run, placed: { stepId, effect } }: RunEffect): void {
    const { id, open, trigger, depth } = run.stored.state
    if (effect.type !== 'external') {
      const raised = this.#simulation.raises?.(effect) ?? []
      for (const event of raised) this.#take({ kind: 'event', payload: { ...event, depth: depth + 1 } })
      return
    }
    if (!open) return
    const { epoch, request } = effect
    const { iteration, attempt } = open
    const result = this.#simulation.answer({ trigger, stepId, iteration, attempt, request }) ?? PLACEHOLDER
    this.#take({ kind: 'result', payload: { runId: id, epoch, result } })
  }

  /** What comes by itself until then, each at its own time. */
  #ringUntil(at: Date): void {
    for (let due = this.#nextDue(); due && due.at <= at.getTime() && !this.#isOver(at); due = this.#nextDue()) {
      if (due.at > this.#now.getTime()) this.#now = new Date(due.at)
      this.#take(due.mail)
    }
  }

  /** Nobody says anything any more: time passes for whoever waits for nothing else. */
  #settleTimers(): void {
    const next = () => this.#nextDue(({ isAwaited }) => isAwaited)
    for (let due = next(); due && Number.isFinite(due.at); due = next()) {
      const at = new Date(due.at)
      if (this.#isOver(at)) return
      this.#ringUntil(at)
    }
  }

  #nextDue(filter: (due: Timer) => boolean = () => true): Timer | undefined {
    const [first, ...rest] = this.#mailbox.due().filter(filter)
    return first && rest.reduce((earliest, due) => (due.at < earliest.at ? due : earliest), first)
  }

  #isOver(at: Date): boolean {
    this.#stoppedBy ??= this.#limitAt(at)
    return this.#stoppedBy !== null
  }

  #limitAt(at: Date): string | null {
    if (at.getTime() - this.#simulation.now.getTime() > VIRTUAL_MS_MAX)
      return 'A simulation ends after one year of its clock'
    if (this.#mailCount >= MAIL_MAX) return `A simulation ends after ${MAIL_MAX} happenings`
    return this.#simulation.isOutOfTime?.() ? 'The simulation took too long' : null
  }

  #newId(now: Date): string {
    this.#idsCount += 1
    return deriveId('simulation', this.#idsCount, now.getTime())
  }
}

function presentRun({ stored: { state, workflowId, workflowVersion }, steps }: SimulatedRunRecord): SimulatedRun {
  const ordered = [...steps.values()].sort((a, b) => a.index - b.index)
  return { id: state.id, workflowId, workflowVersion, state, steps: ordered }
}
