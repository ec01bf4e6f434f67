import { checkDefinition } from './check-definition.ts'
import type { ValidateWorkflow, Validation } from './schema.ts'

/** What publishing this definition would say, without keeping anything. */
export function validateWorkflow({ definition }: ValidateWorkflow): Validation {
  const { errors, warnings } = checkDefinition(definition)
  return { valid: errors.length === 0, errors, warnings }
}
