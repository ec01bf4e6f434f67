import type { JsonObject } from '../../engine/model/run.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { parseJson } from '../../platform/parse-json.ts'
import type { Scope } from '../../scope.ts'
import type { ModelReply } from '../ai-provider/request-completion.ts'
import { findCallableTool } from '../tools/queries.ts'
import { type CallLimits, prepareCall, type PreparedCall, type ToolCaller } from '../tools/prepare-call.ts'
import { toFailure } from '../tools/tool-failure.ts'
import type { AiTranscript, ModelToolCall, TranscriptEntry } from './ai-transcript.ts'
import { parseToolInput, findToolByName } from './model-tools.ts'

const OUTPUT_LENGTH_MAX = 32_768

type ToolCall = NonNullable<ModelReply['tool_calls']>[number]

/** Whose behalf, which tools, and within what. */
export type ToolCallContext = { caller: ToolCaller; tools: readonly string[]; limits: CallLimits }

/**
 * Makes a call that the model wants, and writes down what came of it. That it failed is for the model to know, which may
 * find another way.
 */
export async function callModelTool(
  scope: Scope,
  transcript: AiTranscript,
  { id: callId, function: wanted }: ToolCall,
  bounds: ToolCallContext,
): Promise<void> {
  const tool = findToolByName(wanted.name)
  const given = readArguments(wanted.arguments)
  const entry = (called: Omit<ModelToolCall, 'tool' | 'input'>, input: unknown = given) =>
    ({ type: 'called', callId, tool, input, ...called }) as TranscriptEntry
  const prepared = await attempt(() => prepare(scope, { tool, given }, bounds))
  if ('error' in prepared) return transcript.append(scope, async () => entry(prepared))
  const { call, input } = prepared.output
  if (call.kind === 'inside') {
    return transcript.append(scope, async (tx) => entry(await attempt(() => tx.transaction(call.act)), input))
  }
  const made = await attempt(async () => cut(await call.act(bounds.limits)))
  // What was called off says nothing of the tool.
  bounds.limits.signal.throwIfAborted()
  return transcript.append(scope, async () => entry(made, input))
}

async function prepare(
  scope: Scope,
  { tool, given }: { tool: string; given: unknown },
  { caller, tools }: ToolCallContext,
): Promise<{ call: PreparedCall; input: JsonObject }> {
  if (!tools.includes(tool)) {
    throw new StepError('unknown_tool', `There is no tool "${tool.slice(0, 64)}" here`, { retryable: false })
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new StepError('invalid_tool_input', 'The arguments are no JSON object', { retryable: false })
  }
  const { row } = await findCallableTool(scope, tool)
  const input = row ? (given as JsonObject) : parseToolInput(given as JsonObject)
  return { call: await prepareCall(scope, { tool, input }, caller), input }
}

/** What a model reads of a long answer, and a run keeps. */
function cut(output: unknown): unknown {
  const text = JSON.stringify(output)
  if (text.length <= OUTPUT_LENGTH_MAX) return output
  return { $truncated: true, bytes: Buffer.byteLength(text), preview: text.slice(0, OUTPUT_LENGTH_MAX) }
}

async function attempt<T>(act: () => Promise<T>): Promise<{ output: T } | { error: ReturnType<typeof toFailure> }> {
  try {
    return { output: await act() }
  } catch (error) {
    return { error: toFailure(error) }
  }
}

function readArguments(text: string): unknown {
  const read = text.trim() === '' ? {} : parseJson(text)
  return read === undefined ? text : read
}
