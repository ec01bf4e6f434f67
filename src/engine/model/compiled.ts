import type { Condition } from '../language/definition/condition.ts'
import type { Settings } from '../language/definition/settings.ts'
import type { Retry } from '../language/definition/step-base.ts'
import { BREAK, CONTINUE, END } from '../language/definition/names.ts'
import type { Trigger } from '../language/definition/triggers.ts'
import type { Variable } from '../language/definition/variables.ts'

/**
 * A definition in its normal form: every default filled in, every duration in milliseconds, every way on named. It is
 * plain JSON, stored beside its source, and the only form that runs.
 */
export type CompiledDefinition = {
  version: 1
  triggers: Trigger[]
  settings: Settings
  variables: Record<string, Variable>
  steps: CompiledStep[]
  /** Where in `steps` a step stands. */
  index: Record<string, number>
}

/** Targets are step ids, `end`, or within a loop `continue` and `break`. */
export type CompiledStep = {
  id: string
  type: string
  /** The loops around it, the innermost last. */
  loops: string[]
  name: string | null
  if: Condition | null
  disabled: boolean
  /** Where a step that is done goes on, unless it says otherwise. */
  next: string
  /** Where the run goes on if the step is passed over. */
  skip: string
  /** `fail`, `continue`, or a target. */
  onError: string
  retry: Retry | null
  timeoutMs: number | null
  onTimeout: string | null
  /** The variable that keeps what the step gives. */
  saveAs: string | null
  /** Where a loop begins. */
  body: string | null
  /** What the step's type reads of the other fields. */
  config: Record<string, unknown>
}

export function findStep(compiled: CompiledDefinition, id: string): CompiledStep | undefined {
  const index = Object.hasOwn(compiled.index, id) ? compiled.index[id] : undefined
  return index === undefined ? undefined : compiled.steps[index]
}

/** The step that a target means, seen from a step; `end` and what is not there mean none. */
export function resolveTarget(compiled: CompiledDefinition, from: CompiledStep, target: string): string {
  const loop = from.loops.at(-1)
  if (loop === undefined || (target !== CONTINUE && target !== BREAK)) return target
  if (target === CONTINUE) return loop
  const around = findStep(compiled, loop)
  return around ? resolveTarget(compiled, around, around.next) : END
}
