import type { z } from 'zod'
import type { Condition } from '../language/conditions.ts'
import type { Fields } from '../language/fields.ts'
import type { Root } from '../language/values.ts'
import type { CompiledStep } from './compiled.ts'
import type { Effect } from './effect.ts'
import type { JsonObject, LoopFrame, MessageFacts, WaitingFor } from './run.ts'

/** Facts about the world when a run is decided: plain JSON, times as ISO 8601 texts. */
export type Facts = {
  contact: JsonObject | null
  conversation: JsonObject | null
  workspace: JsonObject
  workflow: JsonObject
  /** Objects outside of the conversation that the steps of the workflow refer to, by kind. */
  resources?: JsonObject
}

/** Everything that a step may read and do while it is decided. Nothing here reads a clock, draws lots or does I/O. */
export interface StepContext {
  /** The recorded time of the step. */
  readonly now: Date
  /** Time zone of times without an offset. */
  readonly timezone: string
  readonly facts: Facts
  readonly step: CompiledStep
  readonly attempt: number
  /** State that the step saved when it began to wait; null before. */
  readonly state: unknown
  /** Fills in the placeholders of a value; a text that is a single placeholder keeps the type of its value. */
  resolve(value: unknown): unknown
  /** Fills in the placeholders of a text, and always returns a text. */
  text(template: string): string
  /** `overrides` replace the values of the roots of their names. */
  isMet(condition: Condition, overrides?: Partial<Record<Root, unknown>>): boolean
  /** Number of times that the run has left this step before. */
  readonly iteration: number
  /** The current iteration of the step itself, if it is a loop that is under way. */
  readonly frame: LoopFrame | null
  readonly runId: string
  /** Returns an id for an object that the step creates, such as a message. */
  newId(): string
}

/** `retryable` is false if a new attempt cannot succeed. */
export type StepFailure = { code: string; message: string; retryable?: boolean }

/** Parts of an outcome that every kind of outcome may have. */
export type StepReport = {
  /** Input of the step, placeholders filled in. */
  input?: unknown
  effects?: Effect[]
  /** Merged into the facts, so that later steps of the same decision see the result of the effects. */
  facts?: { contact?: JsonObject; conversation?: JsonObject }
  /** The message that the step sent. */
  messageId?: string
}

export type StepOutcome =
  | (StepReport & {
      kind: 'next'
      output?: unknown
      /** Value for `saveAs`, if not the whole output. */
      saved?: unknown
      /** Variables to change, by name. */
      variables?: JsonObject
      branch?: string
      /** The next step, if not the one in the definition. */
      to?: string
    })
  | (StepReport & { kind: 'suspend'; for: Exclude<WaitingFor, 'result'>; until: Date | null; state?: unknown })
  /** Executes the body of the loop once more. */
  | (StepReport & { kind: 'iterate'; index: number; items: unknown[] | null; output?: unknown; variables?: JsonObject })
  | (StepReport & { kind: 'external'; request: JsonObject; state?: unknown })
  /** Starts a run of another workflow. */
  | (StepReport & { kind: 'start_run'; start: { workflowId: string; input: unknown; isAwaited: boolean } })
  | (StepReport & { kind: 'end'; status: 'completed' | 'failed'; output?: unknown; reason?: string })
  | (StepReport & { kind: 'fail'; error: StepFailure })

/** Outcome of a step that waited. `ignore` leaves a reply to other runs and continues to wait. */
export type Resumption = StepOutcome | { kind: 'ignore' }

export type ExternalResult = { ok: true; output: unknown } | { ok: false; error: StepFailure }

export type WakeUp =
  | { type: 'reply'; message: MessageFacts }
  | { type: 'timer' }
  | { type: 'event'; event: string; data: unknown }
  | { type: 'external_result'; result: ExternalResult }

/** A step that the configuration names as a successor, and the path where it does so: `cases.0.next`. */
export type Target = { to: string; path: string }

/**
 * The successor of a step whose outcome names none. `always`: `next`, or else the following step. `explicit`: `next`,
 * or else the end of the run. `never`: the outcome always names one.
 */
export type Fallthrough = 'always' | 'explicit' | 'never'

/** The parts of a step type. `Config` is the output of its schema. */
interface StepBehaviour<Config> {
  /**
   * Kind of the wake-up for which the step may wait: `timer` is the duration that it defines itself, `result` that of an
   * external call or of another run. Without it, the step completes at once and has no timeout.
   */
  readonly awaits?: WaitingFor | null
  /** True if the step fails, waits in vain or has no effect in a run without a contact. */
  readonly needsContact?: boolean
  /** Paths of texts that are no templates, such as `expect.pattern`. */
  readonly literal?: readonly string[]
  /** Roots that have other fields in one of its own fields, by the name of that field. */
  readonly reads?: Readonly<Record<string, Readonly<Partial<Record<Root, Fields>>>>>
  /** True for a loop: the `steps` of its configuration are steps of their own, which it iterates over. */
  readonly hasBody?: boolean
  targets?(config: Config): Target[]
  /** Variables that it assigns, besides that of `saveAs`. */
  assigns?(config: Config): string[]
  /** Fields of its output, which later steps read; null for an output of any form. */
  output?(config: Config): Fields | null
  fallthrough?(config: Config): Fallthrough
  /** True if it always waits before it continues: a cycle of steps without such a step would never end. */
  waits?(config: Config): boolean
  /** Values that a recorded output of the step left in variables, if not the whole output in that of `saveAs`. */
  restoreOutput?(config: Config, output: unknown): { saved?: unknown; variables?: JsonObject }
  execute(config: Config, context: StepContext): StepOutcome
  /** Continues after a wait. Without it, a step that waited for a time or for a result continues with `next`. */
  resume?(config: Config, context: StepContext, wakeup: WakeUp): Resumption
}

export interface StepType extends Required<StepBehaviour<Record<string, unknown>>> {
  readonly type: string
  readonly schema: z.ZodObject
}

export type StepRegistry = ReadonlyMap<string, StepType>

export function defineStep<Schema extends z.ZodObject>(
  step: { type: string; schema: Schema } & StepBehaviour<z.output<Schema>>,
): StepType {
  const defaults = {
    awaits: null,
    needsContact: false,
    literal: [],
    reads: {},
    hasBody: false,
    targets: () => [],
    assigns: assignsNothing,
    output: () => null,
    fallthrough: (): Fallthrough => 'always',
    waits: () => false,
    restoreOutput: (_config: unknown, output: unknown) => ({ saved: output }),
    resume: resumeWithResult,
  }
  // Method parameters are bivariant: a configuration reaches its type only through the type's own schema.
  return { ...defaults, ...step }
}

/** `assigns` of the types that assign no variables, whatever their configuration. */
export function assignsNothing(): string[] {
  return []
}

function resumeWithResult(_config: unknown, _context: StepContext, wakeup: WakeUp): Resumption {
  if (wakeup.type === 'reply' || wakeup.type === 'event') return { kind: 'ignore' }
  if (wakeup.type === 'timer') return { kind: 'next' }
  const { result } = wakeup
  return result.ok ? { kind: 'next', output: result.output } : { kind: 'fail', error: result.error }
}

export function stepRegistry(types: readonly StepType[]): StepRegistry {
  return new Map(types.map((step) => [step.type, step]))
}
