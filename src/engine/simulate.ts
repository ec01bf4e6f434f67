import { addMs, DAY } from '../platform/time.ts'
import { deriveId } from './derive-id.ts'
import type { Published } from './party.ts'
import type { TriggerEvent } from './match-trigger.ts'
import { isSettled, type JsonObject, type MessageFacts, type RunState, type StepRecord } from './run.ts'
import { type Mail, type Placed, type PlayedRun, SimulatedMailbox, type SimulatedParty } from './simulated-mailbox.ts'
import type { ExternalResult, StepRegistry } from './step.ts'

/** What the customer does, and when: after how long since what came before. */
export type DialogueEntry =
  | { type: 'message'; body: string | null; afterMs: number; /** A recorded message, whole. */ message?: MessageFacts }
  | { type: 'event'; event: TriggerEvent; afterMs: number }
  | { type: 'advance'; afterMs: number }

/** A step that asked for something outside. */
export type Asked = { trigger: JsonObject; stepId: string; iteration: number; attempt: number; request: unknown }

export type Simulation = {
  /** When it begins, on the clock of the simulation. */
  now: Date
  registry: StepRegistry
  party: SimulatedParty
  published: Published[]
  /** A run that is there from the start, queued; else only the dialogue starts any. */
  queued?: { workflow: Published; state: RunState } | undefined
  dialogue: DialogueEntry[]
  /** What the outside answers; undefined if nobody said, and a placeholder stands in. */
  answer(asked: Asked): ExternalResult | undefined
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

export type Said = {
  at: string
  from: 'customer' | 'workflow'
  body: string | null
  buttons: unknown[]
  stepId: string | null
}

export type Played = {
  runs: SimulatedRun[]
  transcript: Said[]
  effects: ({ at: string; runId: string; stepId: string; type: string } & JsonObject)[]
  ended: 'settled' | 'waiting' | 'not_started'
  why: string | null
  /** Where the clock of the simulation stands. */
  endedAt: string
}

const VIRTUAL_MS_MAX = 366 * DAY
const MAIL_MAX = 5000
/** Stands for what a step would have been given by the outside. */
const PLACEHOLDER: ExternalResult = { ok: true, output: { simulated: true } }

/**
 * Plays a dialogue against workflows as it would go live, on a clock that jumps to whatever comes next, and does nothing
 * to the world. The same simulation comes to the same, to the last id.
 */
export function simulate(simulation: Simulation): Played {
  return new Simulator(simulation).play()
}

class Simulator {
  readonly #given: Simulation
  readonly #mailbox: SimulatedMailbox
  readonly #transcript: Said[] = []
  readonly #effects: Played['effects'] = []
  #now: Date
  #idsCount = 0
  #mailCount = 0
  #messagesCount = 0
  #stoppedBy: string | null = null

  constructor(given: Simulation) {
    const { registry, party, published, now } = given
    this.#given = given
    this.#now = now
    this.#mailbox = new SimulatedMailbox({ registry, party, published, newId: (at) => this.#newId(at) })
  }

  play(): Played {
    const { queued, dialogue } = this.#given
    if (queued) {
      this.#mailbox.put(queued.workflow, queued.state)
      this.#take({ kind: 'start', runId: queued.state.id })
    }
    for (const entry of dialogue) this.#deliver(entry)
    this.#settleTimers()
    const runs = this.#mailbox.runs.map(presentRun)
    const told = { transcript: this.#transcript, effects: this.#effects, endedAt: this.#now.toISOString() }
    return { runs, ...told, ...this.#ending() }
  }

  #deliver(entry: DialogueEntry): void {
    const at = addMs(this.#now, entry.afterMs)
    this.#ringUntil(at)
    if (this.#isOver(at)) return
    this.#now = at
    if (entry.type === 'event') this.#take({ kind: 'event', event: entry.event })
    if (entry.type === 'message') this.#say(entry)
  }

  #say({ body, message }: DialogueEntry & { type: 'message' }): void {
    const at = this.#now.toISOString()
    const isFirst = this.#messagesCount === 0
    this.#messagesCount += 1
    this.#transcript.push({ at, from: 'customer', body, buttons: [], stepId: null })
    const said = message ?? { id: this.#newId(this.#now), body, type: 'text', content: null, at }
    this.#take({ kind: 'message', message: said, isFirst })
  }

  /** Gives the mailbox one item, and whatever the outside answers to what comes of it. */
  #take(mail: Mail): void {
    if (this.#isOver(this.#now)) return
    this.#mailCount += 1
    const placed = this.#mailbox.take(mail, this.#now)
    for (const one of placed) this.#note(one)
    for (const { run, placed: asked } of placed) {
      const { effect, stepId } = asked
      const open = run.state.open
      if (effect.type !== 'external' || !open) continue
      const { iteration, attempt } = open
      const { trigger } = run.state
      const result =
        this.#given.answer({ trigger, stepId, iteration, attempt, request: effect['request'] }) ?? PLACEHOLDER
      this.#take({ kind: 'result', runId: run.state.id, epoch: Number(effect['epoch']), result })
    }
  }

  #note({ run, placed: { stepId, effect } }: Placed): void {
    const at = this.#now.toISOString()
    const { type, ...rest } = effect
    this.#effects.push({ at, runId: run.state.id, stepId, type, ...rest })
    if (!('messageId' in effect)) return
    const { body, buttons } = effect
    const said = typeof body === 'string' ? body : null
    this.#transcript.push({ at, from: 'workflow', body: said, buttons: Array.isArray(buttons) ? buttons : [], stepId })
  }

  /** The timers that ring until then, each at its own time. */
  #ringUntil(at: Date): void {
    for (let run = this.#nextToRing(at); run && !this.#isOver(at); run = this.#nextToRing(at)) {
      const due = new Date(run.wakeAt ?? at)
      if (due > this.#now) this.#now = due
      const { id, epoch } = run.state
      run.wakeAt = null
      this.#take({ kind: 'timer', runId: id, epoch })
    }
  }

  #nextToRing(at: Date): PlayedRun | undefined {
    const due = this.#mailbox.runs.filter(({ wakeAt }) => wakeAt !== null && Date.parse(wakeAt) <= at.getTime())
    return due.reduce<PlayedRun | undefined>(
      (first, run) => (first && wakesAt(first) <= wakesAt(run) ? first : run),
      undefined,
    )
  }

  /** Nobody says anything any more: time passes for runs that wait for nothing else. */
  #settleTimers(): void {
    for (let next = this.#nextTimer(); next && !this.#isOver(next); next = this.#nextTimer()) this.#ringUntil(next)
  }

  #nextTimer(): Date | undefined {
    const timers = this.#mailbox.runs.filter(({ state, wakeAt }) => wakeAt !== null && state.waiting?.for === 'timer')
    return timers.length > 0 ? new Date(Math.min(...timers.map(wakesAt))) : undefined
  }

  #isOver(at: Date): boolean {
    this.#stoppedBy ??= this.#limitAt(at)
    return this.#stoppedBy !== null
  }

  #limitAt(at: Date): string | null {
    if (at.getTime() - this.#given.now.getTime() > VIRTUAL_MS_MAX)
      return 'A simulation ends after one year of its clock'
    if (this.#mailCount >= MAIL_MAX) return `A simulation ends after ${MAIL_MAX} happenings`
    return this.#given.isOutOfTime?.() ? 'The simulation took too long' : null
  }

  #ending(): Pick<Played, 'ended' | 'why'> {
    const { runs } = this.#mailbox
    if (runs.length === 0)
      return {
        ended: 'not_started',
        why: this.#stoppedBy ?? 'Nothing that was said or happened met a trigger of the workflow',
      }
    const open = runs.find(({ state }) => !isSettled(state))
    if (!open) return { ended: 'settled', why: this.#stoppedBy }
    return { ended: 'waiting', why: this.#stoppedBy ?? waitingWhy(open.state) }
  }

  #newId(now: Date): string {
    this.#idsCount += 1
    return deriveId('simulation', this.#idsCount, now.getTime())
  }
}

function wakesAt({ wakeAt }: PlayedRun): number {
  return Date.parse(wakeAt ?? '')
}

function waitingWhy({ stepId, waiting }: RunState): string {
  const until = waiting?.until ? `, until ${waiting.until}` : ''
  const what = { reply: 'a reply', timer: 'a time', event: 'an event', result: 'something from outside' }[
    waiting?.for ?? 'event'
  ]
  return `Step "${stepId}" waits for ${what}${until}`
}

function presentRun({ workflow: { workflowId, version }, state, steps }: PlayedRun): SimulatedRun {
  const ordered = [...steps.values()].sort((a, b) => a.index - b.index)
  return { id: state.id, workflowId, workflowVersion: version, state, steps: ordered }
}
