import { compileDefinition, type Compilation } from '../../engine/compile-definition.ts'
import { stepTypes } from './steps/index.ts'

/** A definition in the form that runs, or everything that keeps it from running. */
export function checkDefinition(definition: unknown): Compilation {
  return compileDefinition(definition, stepTypes)
}
