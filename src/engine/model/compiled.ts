import type { Condition } from '../language/conditions.ts'
import { BREAK, CONTINUE, END } from '../language/definition/names.ts'
import type { Settings } from '../language/definition/settings.ts'
import type { Retry } from '../language/definition/step-base.ts'
import type { Variable } from '../language/definition/variables.ts'
import type { CompiledTrigger } from './trigger.ts'

/**
 * A definition in its normal form: every default filled in, every duration in milliseconds, every successor named. It
 * is plain JSON, stored beside its source, and the only form that runs.
 */
export type CompiledDefinition = {
  version: 1
  triggers: CompiledTrigger[]
  settings: Settings
  variables: Record<string, Variable>
  steps: CompiledStep[]
  /** Positions in `steps`, by step id. */
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
  /** Successor of a completed step, unless its outcome names another. */
  next: string
  /** Successor of a skipped step. */
  skip: string
  /** `fail`, `continue`, or a target. */
  onError: string
  retry: Retry | null
  timeoutMs: number | null
  onTimeout: string | null
  /** The variable that keeps the output. */
  saveAs: string | null
  /** First step of a loop's body. */
  body: string | null
  /** The fields of the step's type, as its schema read them. */
  config: Record<string, unknown>
}

type StepsById = Pick<CompiledDefinition, 'steps' | 'index'>

export function findStep(compiled: StepsById, id: string): CompiledStep | undefined {
  const index = Object.hasOwn(compiled.index, id) ? compiled.index[id] : undefined
  return index === undefined ? undefined : compiled.steps[index]
}

/** Resolves `continue` and `break` as seen from a step; other targets stay as they are. */
export function resolveTarget(compiled: StepsById, from: CompiledStep, target: string): string {
  const loop = from.loops.at(-1)
  if (loop === undefined || (target !== CONTINUE && target !== BREAK)) return target
  if (target === CONTINUE) return loop
  const outer = findStep(compiled, loop)
  return outer ? resolveTarget(compiled, outer, outer.next) : END
}
