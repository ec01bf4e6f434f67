import { InvalidError } from '../../platform/errors.ts'
import { jsonSchemaErrorTask } from '../../platform/json-schema.ts'
import type { Scope } from '../../scope/scope.ts'
import type { UpdateTool } from './schema.ts'

const FIELDS = ['inputSchema', 'outputSchema'] as const

/**
 * @throws InvalidError if a schema cannot be used
 * @throws BudgetExceededError if a schema is too expensive to use
 */
export async function assertUsableSchemas(
  scope: Scope,
  tool: Pick<UpdateTool, (typeof FIELDS)[number]>,
): Promise<void> {
  for (const path of FIELDS) {
    const schema = tool[path]
    const problem = schema && (await scope.compute(jsonSchemaErrorTask, schema))
    if (!problem) continue
    const message = `is not a supported JSON Schema: ${problem}`
    throw new InvalidError(`${path} ${message}`, [{ path, message }])
  }
}
