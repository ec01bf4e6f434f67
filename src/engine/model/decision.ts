import type { CompiledDefinition, CompiledStep } from './compiled.ts'
import type { Effect } from './effect.ts'
import type { Registry } from './registry.ts'
import type { JsonObject, MessageFacts, RunState, StepRecord, WaitingFor } from './run.ts'
import type { ExternalResult, Facts } from './step.ts'

/** Everything that can happen to a run. An event with an epoch is void once the run waits for something else. */
export type EngineEvent =
  | { type: 'started' }
  | { type: 'reply'; message: MessageFacts }
  | { type: 'timer'; epoch: number }
  | { type: 'event'; event: string; data: unknown }
  | { type: 'external_result'; epoch: number; result: ExternalResult }
  | { type: 'failed'; error: { code: string; message: string } }
  /** `error` is the reason if nobody canceled the run by request. */
  | { type: 'canceled'; error?: { code: string; message: string } }
  | { type: 'expired' }

/** An effect and the step that requests it. */
export type EffectRequest = { stepId: string; stepIndex: number; effect: Effect }

/** A call that leaves the transaction; its result returns with the epoch. */
export type ExternalCall = {
  target: 'external'
  stepId: string
  stepIndex: number
  epoch: number
  attempt: number
  timeoutMs: number | null
  request: JsonObject
}

/** A run of another workflow, started in the same mailbox. */
export type ChildRunCall = {
  target: 'workflow'
  stepId: string
  epoch: number
  workflowId: string
  input: unknown
  /** False if the step continues as soon as the run exists. */
  isAwaited: boolean
}

export type Wait = {
  for: WaitingFor
  stepId: string
  epoch: number
  /** End of the step's own wait; null if it waits as long as the run may last. */
  until: string | null
  /** Due time of the timer of this epoch: never later than the run may last, so no run waits for ever. */
  wakeAt: string
}

export type Decision = {
  /** False if the event was not for this run as it stands. Then nothing has changed, and other runs may use a reply. */
  isConsumed: boolean
  run: RunState
  facts: Facts
  /** At most one per index, in order: those that this event wrote, first the one that had been waiting. */
  steps: StepRecord[]
  effects: EffectRequest[]
  /** The call whose result the run waits for, requested after all effects. */
  call: ExternalCall | ChildRunCall | null
  /** Set exactly if the run waits now. */
  wait: Wait | null
  /** Values of the run's sensitive variables, also those that it had when the decision began or in its course. */
  secrets: string[]
}

/** Collects a decision while it is made. `run` is its own copy. */
export type DecisionDraft = {
  readonly compiled: CompiledDefinition
  readonly registry: Registry
  readonly now: Date
  readonly run: RunState
  facts: Facts
  readonly steps: StepRecord[]
  readonly effects: EffectRequest[]
  call: ExternalCall | ChildRunCall | null
  /** Values that sensitive variables have no longer. */
  readonly replacedSecrets: Set<string>
}

/** One execution of a step, under way. */
export type Execution = { step: CompiledStep; record: StepRecord }
