import { StepError } from '../../engine/language/step-error.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import type { StepFailure } from '../../engine/model/step.ts'
import { parseJson } from '../../platform/parse-json.ts'
import type { Scope } from '../../scope/scope.ts'
import type { ModelReply } from '../ai-provider/request-completion.ts'
import { type CallLimits, prepareCall, type PreparedCall, type ToolCaller } from '../tools/prepare-call.ts'
import { findCallableTool } from '../tools/queries.ts'
import { toFailure } from '../tools/tool-failure.ts'
import type { AiTranscript, TranscriptEntry } from './ai-transcript.ts'

const OUTPUT_LENGTH_MAX = 32_768

type ToolCall = NonNullable<ModelReply['tool_calls']>[number]

/** The caller of a tool, the tools that the model may call, and the limits of a call. */
export type ToolCallContext = { caller: ToolCaller; tools: readonly string[]; limits: CallLimits }

/** Inputs that the run sets, not the model: a customer must not make it act on other contacts or conversations. */
const CONTEXT_INPUTS = new Set(['contactId', 'conversationId'])

/**
 * Executes a tool call of the model and appends its result to the transcript. An error is a result too, so that the model
 * can react to it.
 */
export async function callModelTool(
  scope: Scope,
  transcript: AiTranscript,
  { id: callId, function: request }: ToolCall,
  context: ToolCallContext,
): Promise<void> {
  const tool = toToolName(request.name)
  const args = parseArguments(request.arguments)
  const toEntry = (result: ToolCallResult, input: unknown = args): TranscriptEntry => ({
    type: 'tool_call',
    callId,
    tool,
    input,
    ...result,
  })
  const prepared = await toResult(() => prepare(scope, { tool, args }, context))
  if ('error' in prepared) return transcript.append(scope, async () => toEntry(prepared))
  const { call, input } = prepared.output
  if (call.kind === 'local') {
    return transcript.append(scope, async (tx) => toEntry(await toResult(() => tx.transaction(call.execute)), input))
  }
  const result = await toResult(async () => truncate(await call.execute(context.limits)))
  // The result of an aborted call says nothing about the tool.
  context.limits.signal.throwIfAborted()
  return transcript.append(scope, async () => toEntry(result, input))
}

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

async function prepare(
  scope: Scope,
  { tool, args }: { tool: string; args: unknown },
  { caller, tools }: ToolCallContext,
): Promise<{ call: PreparedCall; input: JsonObject }> {
  if (!tools.includes(tool)) {
    throw new StepError('unknown_tool', `The step does not offer a tool "${tool.slice(0, 64)}"`, { retryable: false })
  }
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    throw new StepError('invalid_tool_input', 'The arguments are not a JSON object', { retryable: false })
  }
  const { row } = await findCallableTool(scope, tool)
  const input = row ? { ...args } : omitContextInput({ ...args })
  return { call: await prepareCall(scope, { tool, input }, caller), input }
}

/** Truncates a long output to what the model reads and the run stores. */
function truncate(output: unknown): unknown {
  const text = JSON.stringify(output)
  if (text.length <= OUTPUT_LENGTH_MAX) return output
  return { $truncated: true, bytes: Buffer.byteLength(text), preview: text.slice(0, OUTPUT_LENGTH_MAX) }
}

type ToolCallResult<T = unknown> = { output: T } | { error: StepFailure }

async function toResult<T>(execute: () => Promise<T>): Promise<ToolCallResult<T>> {
  try {
    return { output: await execute() }
  } catch (error) {
    return { error: toFailure(error) }
  }
}

function parseArguments(text: string): unknown {
  const value = text.trim() === '' ? {} : parseJson(text)
  return value === undefined ? text : value
}

function toToolName(modelName: string): string {
  return modelName.replaceAll('-', '.')
}

/** Removes the inputs of a built-in tool that the run sets. */
function omitContextInput(input: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !CONTEXT_INPUTS.has(name)))
}

function toModelSchema({ properties, required, ...schema }: JsonObject): JsonObject {
  return {
    ...schema,
    properties: omitContextInput({ ...Object(properties) }),
    required: (Array.isArray(required) ? required : []).filter((name) => !CONTEXT_INPUTS.has(String(name))),
  }
}
