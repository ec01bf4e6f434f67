import type { ConditionLanguage, OperatorRegistry } from '../language/conditions.ts'
import { stepBase, type StepBaseSchema } from '../language/definition/step-base.ts'
import type { EffectRegistry } from './effect.ts'
import type { StepRegistry } from './step.ts'
import type { TriggerRegistry } from './trigger.ts'

/** Everything that a product adds to the engine: the engine knows it through these interfaces only. */
export type Registry = {
  readonly operators: OperatorRegistry
  readonly triggers: TriggerRegistry
  readonly steps: StepRegistry
  readonly effects: EffectRegistry
  /** Schema of the fields that every step has. */
  readonly stepBase: StepBaseSchema
}

export function createRegistry({
  conditions,
  ...types
}: Pick<Registry, 'triggers' | 'steps' | 'effects'> & { conditions: ConditionLanguage }): Registry {
  return { ...types, operators: conditions.operators, stepBase: stepBase(conditions.schema) }
}
