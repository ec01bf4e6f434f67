import type { JsonObject } from '../../engine/model/run.ts'
import type { Scope } from '../../scope.ts'
import { findCallableTool } from '../tools/queries.ts'

/** What a model may not choose: it acts on the contact and the conversation of its run, whatever a customer talks it into. */
const OWN = new Set(['contactId', 'conversationId'])

/**
 * The tools as a model is told of them. It knows them by names without dots, which many providers refuse; no name of a
 * tool has a dash.
 * @throws StepError `unknown_tool`, `tool_disabled`
 */
export async function describeTools(scope: Scope, names: readonly string[]): Promise<JsonObject[]> {
  const found = await Promise.all(names.map((name) => findCallableTool(scope, name)))
  return found.map(({ tool: { name, description, inputSchema }, row }) => ({
    type: 'function',
    function: {
      name: name.replaceAll('.', '-'),
      description,
      parameters: row ? inputSchema : withoutOwn(inputSchema),
    },
  }))
}

export function findToolByName(modelName: string): string {
  return modelName.replaceAll('-', '.')
}

/** What the model gave a built-in tool, without what is not its to give. */
export function parseToolInput(input: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !OWN.has(name)))
}

function withoutOwn({ properties, required, ...schema }: JsonObject): JsonObject {
  return {
    ...schema,
    properties: parseToolInput(Object(properties) as JsonObject),
    required: (Array.isArray(required) ? required : []).filter((name) => !OWN.has(String(name))),
  }
}
