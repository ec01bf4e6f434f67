import { assignVariable } from '../language/definition/variables.ts'
import type { CompiledDefinition } from '../model/compiled.ts'
import type { JsonObject, RunState } from '../model/run.ts'
import type { StepFailure } from '../model/step.ts'

/** Size limit, because the variables of a run are read and written with every event. */
const VARIABLES_LENGTH_MAX = 1_000_000

export type Assignment =
  { variables: JsonObject; failure?: undefined } | { variables?: undefined; failure: StepFailure }

/** Returns the run's variables after all changes, or the failure of the first one. An undeclared variable takes any value. */
export function assignVariables(
  { variables: current }: Pick<RunState, 'variables'>,
  compiled: CompiledDefinition,
  changes: JsonObject,
): Assignment {
  const names = Object.keys(changes)
  if (names.length === 0) return { variables: current }
  const assigned: JsonObject = {}
  for (const name of names) {
    const value = changes[name] ?? null
    const declared = Object.hasOwn(compiled.variables, name) ? compiled.variables[name] : undefined
    const result = declared ? assignVariable(declared.type, value) : { ok: true as const, value }
    if (!result.ok) {
      const message = `vars.${name} is declared as ${declared?.type} and cannot hold the assigned value`
      return { failure: { code: 'type_mismatch', message, retryable: false } }
    }
    assigned[name] = result.value
  }
  const variables = { ...current, ...assigned }
  if (JSON.stringify(variables).length <= VARIABLES_LENGTH_MAX) return { variables }
  const message = 'The variables of the run are larger than 1 MB'
  return { failure: { code: 'variables_too_large', message, retryable: false } }
}
