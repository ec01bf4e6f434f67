import type { z } from 'zod'
import type { Condition } from '../language/definition/condition.ts'
import type { CompiledStep } from './compiled.ts'
import type { Root } from '../language/values.ts'
import type { JsonObject, LoopFrame, MessageFacts, WaitingFor } from './run.ts'

/** What is known of the world when a run is decided: plain JSON, times as ISO 8601 texts. */
export type Facts = {
  contact: JsonObject | null
  conversation: JsonObject | null
  workspace: JsonObject
  workflow: JsonObject
}

/** Something to do to the world. The engine hands it on; only its doer reads more than the type. */
export type Effect = { readonly type: string } & Readonly<JsonObject>

/** What a step may know and do while it is decided. Nothing here reads a clock, draws lots or leaves the process. */
export interface StepContext {
  /** The recorded time of the step. */
  readonly now: Date
  /** On whose clocks a time without an offset is meant. */
  readonly timezone: string
  readonly facts: Facts
  readonly step: CompiledStep
  readonly attempt: number
  /** What the step left for itself when it began to wait; null before. */
  readonly memory: unknown
  /** The value with its placeholders filled in; one placeholder alone keeps its type. */
  resolve(value: unknown): unknown
  /** The same for a text, which stays one. */
  text(template: string): string
  /** `over` stands in for what the roots of its names would give. */
  isMet(condition: Condition, over?: Partial<Record<Root, unknown>>): boolean
  /** How often the run had been at this step before. */
  readonly iteration: number
  /** The step's own round, if the step is a loop that is under way. */
  readonly round: LoopFrame | null
  readonly runId: string
  /** An id for something that the step makes, such as a message. */
  newId(): string
}

/** `retryable` is false if trying again can change nothing. */
export type StepFailure = { code: string; message: string; retryable?: boolean }

/** What an outcome may say whatever its kind. */
export type StepReport = {
  /** What the step worked with, placeholders filled in. */
  input?: unknown
  effects?: Effect[]
  /** Laid over the facts, so that later steps of the turn see what the effects will do. */
  facts?: { contact?: JsonObject; conversation?: JsonObject }
  /** The message that the step sent. */
  messageId?: string
}

export type StepOutcome =
  | (StepReport & {
      kind: 'next'
      output?: unknown
      /** What `saveAs` keeps, if not the whole output. */
      saved?: unknown
      /** Variables to change, by name. */
      variables?: JsonObject
      branch?: string
      /** Where to go on, if not where the definition says. */
      to?: string
    })
  | (StepReport & { kind: 'wait'; for: Exclude<WaitingFor, 'result'>; until: Date | null; memory?: unknown })
  /** Goes through the body of the loop once more. */
  | (StepReport & { kind: 'round'; index: number; items: unknown[] | null; output?: unknown; variables?: JsonObject })
  | (StepReport & { kind: 'external'; request: JsonObject; memory?: unknown })
  | (StepReport & { kind: 'end'; status: 'completed' | 'failed'; output?: unknown; reason?: string })
  | (StepReport & { kind: 'fail'; error: StepFailure })

/** What a step makes of what it waited for. `ignore` leaves a reply to others and waits on. */
export type Resumption = StepOutcome | { kind: 'ignore' }

export type ExternalResult = { ok: true; output: unknown } | { ok: false; error: StepFailure }

export type WakeUp =
  | { type: 'reply'; message: MessageFacts }
  | { type: 'timer' }
  | { type: 'event'; event: string; data: unknown }
  | { type: 'external_result'; result: ExternalResult }

/** A step that the configuration names as a way on, and where in the step it says so: `cases.0.next`. */
export type Target = { to: string; path: string }

/**
 * Where a step goes that has said all: to `next` or else the following step; to `next` only when it is told, and else
 * to the end of the run; or nowhere, because it always names its way itself.
 */
export type Fallthrough = 'always' | 'explicit' | 'never'

/** What a step type provides. `Config` is what its schema makes of the fields that are its own. */
interface StepBehaviour<Config> {
  /** Paths of texts that are no templates, such as `expect.pattern`. */
  readonly literal?: readonly string[]
  /** A loop: `steps` of its configuration are steps of their own, which it goes through. */
  readonly hasBody?: boolean
  targets?(config: Config): Target[]
  /** The variables that it fills in, besides that of `saveAs`. */
  assigns?(config: Config): string[]
  fallthrough?(config: Config): Fallthrough
  /** Whether it always waits before it goes on: a circle of steps that has no such step would never rest. */
  waits?(config: Config): boolean
  /** What a recorded output of the step left in variables, if not all of it in that of `saveAs`. */
  recall?(config: Config, output: unknown): { saved?: unknown; variables?: JsonObject }
  execute(config: Config, turn: StepContext): StepOutcome
  /** Goes on after a wait. Without it, a step that waited for a time or for a result goes to `next` with it. */
  resume?(config: Config, turn: StepContext, wakeup: WakeUp): Resumption
}

export interface StepType extends Required<StepBehaviour<unknown>> {
  readonly type: string
  readonly schema: z.ZodObject
}

export type StepRegistry = ReadonlyMap<string, StepType>

export function defineStep<Schema extends z.ZodObject>(
  step: { type: string; schema: Schema } & StepBehaviour<z.output<Schema>>,
): StepType {
  const defaults = {
    literal: [],
    hasBody: false,
    targets: () => [],
    assigns: () => [],
    fallthrough: () => 'always',
    waits: () => false,
    recall: (_config: unknown, output: unknown) => ({ saved: output }),
    resume: goOn,
  }
  // Configurations reach a type only through its own schema, when a definition is compiled.
  return { ...defaults, ...step } as unknown as StepType
}

function goOn(_config: unknown, _turn: StepContext, wakeup: WakeUp): Resumption {
  if (wakeup.type === 'reply' || wakeup.type === 'event') return { kind: 'ignore' }
  if (wakeup.type === 'timer') return { kind: 'next' }
  const { result } = wakeup
  return result.ok ? { kind: 'next', output: result.output } : { kind: 'fail', error: result.error }
}

export function stepRegistry(types: readonly StepType[]): StepRegistry {
  return new Map(types.map((step) => [step.type, step]))
}
