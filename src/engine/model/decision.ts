import type { CompiledDefinition, CompiledStep } from './compiled.ts'
import type { JsonObject, MessageFacts, RunState, StepRecord, WaitingFor } from './run.ts'
import type { Effect, ExternalResult, Facts, StepRegistry } from './step.ts'

/** Everything that can happen to a run. Those with an epoch are void once the run waits for something else. */
export type EngineEvent =
  | { type: 'started' }
  | { type: 'reply'; message: MessageFacts }
  | { type: 'timer'; epoch: number }
  | { type: 'event'; event: string; data: unknown }
  | { type: 'external_result'; epoch: number; result: ExternalResult }
  | { type: 'failed'; error: { code: string; message: string } }
  | { type: 'canceled' }
  | { type: 'expired' }

/** An effect and the step that wants it. */
export type EffectRequest = { stepId: string; stepIndex: number; effect: Effect }

export type Wait = {
  for: WaitingFor
  stepId: string
  epoch: number
  /** When the step stops waiting; null if it waits as long as the run may last. */
  until: string | null
  /** When the timer of this epoch has to ring: never later than the run may last, so no run waits for ever. */
  wakeAt: string
}

export type Decision = {
  /** False if the event was not for this run as it stands. Then nothing has changed, and a reply is free for others. */
  isConsumed: boolean
  run: RunState
  facts: Facts
  /** At most one per index, in order: those that this event wrote, first the one that had been waiting. */
  steps: StepRecord[]
  effects: EffectRequest[]
  /** There exactly if the run waits now. */
  wait: Wait | null
}

/** What a decision gathers while it is made. `run` is a copy of its own. */
export type DecisionDraft = {
  readonly compiled: CompiledDefinition
  readonly registry: StepRegistry
  readonly now: Date
  readonly run: RunState
  facts: Facts
  readonly steps: StepRecord[]
  readonly effects: EffectRequest[]
}

/** What is asked of the world outside the transaction, and how its answer finds back. */
export type ExternalEffect = Effect & {
  type: 'external'
  epoch: number
  attempt: number
  timeoutMs: number | null
  request: JsonObject
}

/** One execution of a step, under way. */
export type Execution = { step: CompiledStep; record: StepRecord }
