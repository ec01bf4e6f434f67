import { z } from 'zod'
import { json, text } from '../../../trpc/schemas.ts'
import { isReading, type KeyOperation, type McpCall, REVEALING } from '../mcp-call.ts'
import { showData, showUntrusted, ToolError } from '../result.ts'
import { defineTool, type Tool, toJsonSchema } from '../tool.ts'
import { confirm, takeTwoSteps } from '../two-steps.ts'

const FOUND_MAX = 8
const WORDS_MAX = 12

export const operationTools: Tool[] = [
  defineTool({
    name: 'find_operation',
    title: 'Find an operation',
    description:
      'Searches all operations of the API by words, for what no other tool does. With `operationId`, returns the parameters of one.',
    scopes: [],
    effect: 'read',
    input: z.strictObject({ query: text(200).optional(), operationId: text(80).optional() }),
    run: async (call, { query, operationId }) => {
      if (operationId !== undefined) return showData(describeOperation(call, getOperation(call, operationId)))
      if (query === undefined) throw new ToolError('Send query or operationId')
      return showData({ operations: search(call, query) })
    },
  }),
  defineTool({
    name: 'call_operation',
    title: 'Call an operation',
    description:
      'Calls any operation of the API that the scopes of the key allow, with the parameters that find_operation describes. One that only reads answers at once. Every other takes two calls: the first changes nothing and returns a preview with a handle, the second has the same arguments and the handle as `confirm`.',
    scopes: [],
    effect: 'send',
    input: z.strictObject({ operationId: text(80), params: json.default({}), confirm }),
    async run(call, { operationId, params: input, confirm: handle }) {
      const operation = getOperation(call, operationId)
      if (!isReading(operation)) return takeTwoSteps(call, operation, { input, handle })
      await call.assertMay(operation)
      return showUntrusted(await call.execute(operation, input))
    },
  }),
]

function getOperation(call: McpCall, operationId: string): KeyOperation {
  const operation = call.operations.get(operationId)
  if (operation) return operation
  if (REVEALING.has(operationId))
    throw new ToolError('The answer of this operation has a secret, which assistants are not given. Call the REST API')
  throw new ToolError('API keys can call no operation with this ID. Search with find_operation')
}

/** Lists the operations that have most of the words, in their ID and summary rather than in their description. */
function search(call: McpCall, query: string): object[] {
  const words = query
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word.length > 1)
  const wanted = [...new Set(words)].slice(0, WORDS_MAX).map((word) => word.replace(/(?<=..)s$/, ''))
  const scored = [...call.operations.values()].map((operation) => ({ operation, score: score(operation, wanted) }))
  return scored
    .filter((found) => found.score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, FOUND_MAX)
    .map(({ operation }) => summarize(call, operation))
}

function score({ procedurePath, meta, scope }: KeyOperation, words: string[]): number {
  const { summary = '', description = '' } = meta.openapi ?? {}
  const title = `${procedurePath} ${summary} ${scope}`.toLowerCase()
  const rest = description.toLowerCase()
  return words.reduce((sum, word) => sum + (title.includes(word) ? 3 : rest.includes(word) ? 1 : 0), 0)
}

function summarize(call: McpCall, operation: KeyOperation) {
  return {
    operationId: operation.procedurePath,
    summary: operation.meta.openapi?.summary,
    scope: operation.scope,
    isAllowed: call.may(operation.scope),
    calls: isReading(operation) ? 1 : 2,
  }
}

function describeOperation(call: McpCall, operation: KeyOperation): object {
  const { meta, procedure } = operation
  const [schema] = procedure._def.inputs
  return {
    ...summarize(call, operation),
    description: meta.openapi?.description,
    params: schema instanceof z.ZodType ? toJsonSchema(schema) : {},
  }
}
