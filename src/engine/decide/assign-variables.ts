import type { DecisionDraft } from '../model/decision.ts'
import type { JsonObject } from '../model/run.ts'
import type { StepFailure } from '../model/step.ts'
import { assignVariable } from '../language/variables.ts'

/** What a run may carry from step to step; it is read and written with every event. */
const VARIABLES_LENGTH_MAX = 1_000_000

/** Changes all of the variables, or none and says why. One that is not declared takes any value. */
export function assignVariables(
  { run, compiled }: Pick<DecisionDraft, 'run' | 'compiled'>,
  changes: JsonObject,
): StepFailure | undefined {
  const names = Object.keys(changes)
  if (names.length === 0) return undefined
  const assigned: JsonObject = {}
  for (const name of names) {
    const value = changes[name] ?? null
    const declared = Object.hasOwn(compiled.variables, name) ? compiled.variables[name] : undefined
    const result = declared ? assignVariable(declared.type, value) : { ok: true as const, value }
    if (!result.ok) {
      const message = `vars.${name} is declared as ${declared?.type}, and cannot hold what it was given`
      return { code: 'type_mismatch', message, retryable: false }
    }
    assigned[name] = result.value
  }
  const variables = { ...run.variables, ...assigned }
  if (JSON.stringify(variables).length > VARIABLES_LENGTH_MAX) {
    return { code: 'variables_too_large', message: 'The variables of the run have grown too large', retryable: false }
  }
  run.variables = variables
  return undefined
}
