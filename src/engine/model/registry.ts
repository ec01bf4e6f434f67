import type { ConditionLanguage, OperatorRegistry } from '../language/conditions.ts'
import { stepBase, type StepBaseSchema } from '../language/definition/step-base.ts'
import { ENGINE_FIELDS, type Fields } from '../language/fields.ts'
import type { Root } from '../language/values.ts'
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
  /** Fields of the roots that placeholders read. A root that is not among them has a value of any form. */
  readonly roots: RootFields
  /** Fields of the events by their type, as the conditions of triggers read them. */
  readonly events: ReadonlyMap<string, Fields>
}

export type RootFields = Readonly<Partial<Record<Root, Fields>>>

export function createRegistry({
  conditions,
  roots,
  ...types
}: Omit<Registry, 'operators' | 'stepBase'> & { conditions: ConditionLanguage }): Registry {
  const { operators, schema } = conditions
  return { ...types, roots: { ...ENGINE_FIELDS, ...roots }, operators, stepBase: stepBase(schema) }
}
