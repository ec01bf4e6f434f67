import { addMs } from '../platform/time.ts'
import { decide } from './decide.ts'
import type { Decision, EngineEvent, PlacedEffect } from './decision.ts'
import { matchTrigger, type TriggerEvent } from './match-trigger.ts'
import { isSettled, type JsonObject, type MessageFacts, queueRun, type RunState, type StepRecord } from './run.ts'
import type { Published } from './party.ts'
import type { ExternalResult, Facts, StepRegistry } from './step.ts'

/** Whom a simulation is played with: what live runs would read of the contact, the conversation and the workspace. */
export type SimulatedParty = Omit<Facts, 'workflow'> & { channelId: string }

export type PlayedRun = {
  workflow: Published
  state: RunState
  steps: Map<number, StepRecord>
  wakeAt: string | null
}

export type Mail =
  | { kind: 'message'; message: MessageFacts; isFirst: boolean }
  | { kind: 'event'; event: TriggerEvent }
  | { kind: 'start'; runId: string }
  | { kind: 'timer'; runId: string; epoch: number }
  | { kind: 'result'; runId: string; epoch: number; result: ExternalResult }

export type Placed = { run: PlayedRun; placed: PlacedEffect }

type Given = { registry: StepRegistry; party: SimulatedParty; published: Published[]; newId: (now: Date) => string }

const WINDOW_HOURS = 24

/** A mailbox that is kept in memory, and in which each item is decided at the time it is given. */
export class SimulatedMailbox {
  /** In the order in which they were started. */
  readonly runs: PlayedRun[] = []
  readonly #given: Given
  #facts: Omit<Facts, 'workflow'>
  #pausedUntil: string | null | undefined

  constructor(given: Given) {
    const { contact, conversation, workspace } = given.party
    this.#given = given
    this.#facts = { contact, conversation, workspace }
  }

  isPaused(now: Date): boolean {
    const until = this.#pausedUntil
    return until === null || (until !== undefined && Date.parse(until) > now.getTime())
  }

  put(workflow: Published, state: RunState): PlayedRun {
    const run = { workflow, state, steps: new Map<number, StepRecord>(), wakeAt: null }
    this.runs.push(run)
    return run
  }

  take(mail: Mail, now: Date): Placed[] {
    if (mail.kind === 'message') return this.#takeMessage(mail, now)
    if (mail.kind === 'event') return this.isPaused(now) ? [] : this.#start(mail.event, now)
    const run = this.runs.find(({ state }) => state.id === mail.runId)
    return (run && this.#advance(run, eventOf(mail), now)) ?? []
  }

  #takeMessage({ message, isFirst }: Mail & { kind: 'message' }, now: Date): Placed[] {
    const windowExpiresAt = addMs(now, WINDOW_HOURS * 3_600_000).toISOString()
    const told = { lastInboundAt: now.toISOString(), windowExpiresAt, canSendFreeform: true }
    this.#facts = { ...this.#facts, conversation: { ...this.#facts.conversation, ...told } }
    if (this.isPaused(now)) return []
    for (const run of this.runs.toReversed()) {
      const placed = this.#advance(run, { type: 'reply', message }, now)
      if (placed) return placed
    }
    return this.#start({ type: 'message_received', message, channelId: this.#given.party.channelId, isFirst }, now)
  }

  #start(event: TriggerEvent, now: Date): Placed[] {
    return this.#given.published.flatMap((workflow) => {
      const facts = { ...this.#facts, workflow: factsOf(workflow) }
      const isBusy = this.runs.some((run) => run.workflow === workflow && !isSettled(run.state))
      const match = matchTrigger(workflow.compiled, event, facts, now)
      if (isBusy || !match || 'outcome' in match) return []
      const message = 'message' in event ? (event.message ?? null) : null
      const trigger = { type: event.type, messageId: message?.id ?? null }
      const state = queueRun(workflow.compiled, { id: this.#given.newId(now), trigger, message }, now)
      return this.#advance(this.put(workflow, state), { type: 'started' }, now) ?? []
    })
  }

  /** Undefined if the run has no use for the event. */
  #advance(run: PlayedRun, event: EngineEvent, now: Date): Placed[] | undefined {
    const { workflow, state } = run
    const facts = { ...this.#facts, workflow: factsOf(workflow) }
    const { registry } = this.#given
    const decision = decide({ compiled: workflow.compiled, run: state, event, facts, now, registry })
    if (!decision.consumed) return undefined
    run.state = decision.run
    run.wakeAt = decision.wait?.wakeAt ?? null
    for (const step of decision.steps) run.steps.set(step.index, step)
    this.#learn(decision)
    return decision.effects.map((placed) => ({ run, placed }))
  }

  #learn({ facts: { contact, conversation, workspace }, effects }: Decision): void {
    this.#facts = { contact, conversation, workspace }
    for (const { effect } of effects) {
      if (effect.type === 'handoff') this.#pausedUntil = typeof effect['until'] === 'string' ? effect['until'] : null
      if (effect.type === 'resume_automation') this.#pausedUntil = undefined
    }
  }
}

function eventOf(mail: Exclude<Mail, { kind: 'message' | 'event' }>): EngineEvent {
  if (mail.kind === 'start') return { type: 'started' }
  const { epoch } = mail
  return mail.kind === 'timer' ? { type: 'timer', epoch } : { type: 'external_result', epoch, result: mail.result }
}

function factsOf({ workflowId, name, version }: Published): JsonObject {
  return { id: workflowId, name, version }
}
