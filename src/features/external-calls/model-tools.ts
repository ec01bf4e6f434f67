import type { JsonObject } from '../../engine/model/run.ts'
import type { Scope } from '../../scope/scope.ts'
import { findCallableTool } from '../tools/queries.ts'

/** Inputs that the run sets, not the model: a customer must not make it act on other contacts or conversations. */
const CONTEXT_INPUTS = new Set(['contactId', 'conversationId'])

/**
 * Describes tools in the format of model providers. Many providers reject dots in names, so they become dashes, which
 * tool names cannot contain.
 * @throws StepError `unknown_tool`, `tool_disabled`
 */
export async function describeTools(scope: Scope, names: readonly string[]): Promise<JsonObject[]> {
  const tools = await Promise.all(names.map((name) => findCallableTool(scope, name)))
  return tools.map(({ tool: { name, description, inputSchema }, row }) => ({
    type: 'function',
    function: {
      name: name.replaceAll('.', '-'),
      description,
      parameters: row ? inputSchema : toModelSchema(inputSchema),
    },
  }))
}

export function toToolName(modelName: string): string {
  return modelName.replaceAll('-', '.')
}

/** Removes the inputs of a built-in tool that the run sets. */
export function omitContextInput(input: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !CONTEXT_INPUTS.has(name)))
}

function toModelSchema({ properties, required, ...schema }: JsonObject): JsonObject {
  return {
    ...schema,
    properties: omitContextInput({ ...Object(properties) }),
    required: (Array.isArray(required) ? required : []).filter((name) => !CONTEXT_INPUTS.has(String(name))),
  }
}
