import { z } from 'zod'
import { StepError } from '../../engine/language/step-error.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import { Message as MessageRow } from '../../models/messaging.ts'
import { deadline } from '../../platform/concurrency/deadline.ts'
import { findMismatchTask } from '../../platform/json-schema.ts'
import { parseJson } from '../../platform/parse-json.ts'
import { MINUTE, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { AiOutput } from '../../steps/external/ai.ts'
import { findAiProvider, type LoadedAiProvider } from '../ai-provider/queries.ts'
import { type ModelReply, requestCompletion, type Usage } from '../ai-provider/request-completion.ts'
import { toFailure } from '../tools/tool-failure.ts'
import { AiTranscript, type TranscriptEntry } from './ai-transcript.ts'
import { callModelTool, describeTools } from './call-model-tool.ts'
import { type ClaimedCall, type Executor, idempotencyKey } from './call-queue.ts'

const TIMEOUT_MS = MINUTE
/** Less than the time limit of an execution. */
const TIMEOUT_MS_MAX = 110 * SECOND
const TOOL_TIMEOUT_MS = 30 * SECOND

const Request = z.object({
  instructions: z.string(),
  model: z.string().nullable(),
  tools: z.array(z.string()),
  history: z.int(),
  maxTurns: z.int(),
  output: z.record(z.string(), z.unknown()).nullable(),
})
type Request = z.output<typeof Request>

/** Requests completions from a model until it stops calling tools. Each of its tool calls is executed once. */
export const executeAi: Executor = async (scope, call, signal) => {
  const timeoutMs = Math.min(call.timeoutMs ?? TIMEOUT_MS, TIMEOUT_MS_MAX)
  const limit = deadline(timeoutMs, signal)
  try {
    const transcript = await AiTranscript.load(scope, call)
    const output = await runConversation(scope, transcript, { call, timeoutMs, signal: limit.signal })
    return { complete: (tx) => transcript.delete(tx).then(() => ({ ok: true, output })) }
  } catch (error) {
    if (!limit.signal.aborted) return { ok: false, error: toFailure(error) }
    return { ok: false, error: { code: 'timed_out', message: 'The model did not finish within the time allowed' } }
  } finally {
    limit.release()
  }
}

type Execution = { call: ClaimedCall; timeoutMs: number; signal: AbortSignal }

async function runConversation(scope: Scope, transcript: AiTranscript, execution: Execution): Promise<JsonObject> {
  const { call, signal, timeoutMs } = execution
  const request = Request.parse(call.request)
  const provider = await getProvider(scope)
  const tools = await describeTools(scope, request.tools)
  const opening = await toOpening(scope, call, request)
  for (;;) {
    await executeToolCalls(scope, transcript, request.tools, execution)
    const turns = transcript.entries.filter(({ type }) => type === 'model_reply').length
    if (turns >= request.maxTurns) {
      const message = `The model called more tools after ${turns} turns, the maximum of the step. Increase maxTurns`
      throw new StepError('turn_limit', message, { retryable: false })
    }
    signal.throwIfAborted()
    const messages = [...opening, ...transcript.entries.map(toMessage)]
    const { model, output } = request
    const limits = { signal, timeoutMs, allowsLoopback: scope.allowsLoopback }
    const completion = await requestCompletion(provider, { model, messages, tools, output }, limits)
    if (!completion.reply.tool_calls?.length) return await parseAiOutput(scope, completion, transcript.entries, output)
    await transcript.append(scope, async () => ({ type: 'model_reply', ...completion }))
  }
}

async function getProvider(scope: Scope): Promise<LoadedAiProvider> {
  const provider = await findAiProvider(scope)
  if (provider) return provider
  throw new StepError('no_ai_provider', 'The workspace has no AI provider. Set one with PUT /api/ai-provider', {
    retryable: false,
  })
}

/** Builds the first messages. Some models require a user message, so without a conversation the instructions are one. */
async function toOpening(
  scope: Scope,
  { conversationId }: ClaimedCall,
  { instructions, history }: Request,
): Promise<JsonObject[]> {
  const turns = await listRecentMessages(scope, conversationId, history)
  return [{ role: turns.length > 0 ? 'system' : 'user', content: instructions }, ...turns]
}

/** Executes the tool calls of the last turn that were not executed yet, in order. */
async function executeToolCalls(
  scope: Scope,
  transcript: AiTranscript,
  tools: string[],
  { call, signal, timeoutMs }: Execution,
): Promise<void> {
  const { entries } = transcript
  const last = entries.findLastIndex(({ type }) => type === 'model_reply')
  const lastReply = entries[last]
  if (lastReply?.type !== 'model_reply') return
  const { runId, stepId, contactId, conversationId } = call
  const limits = { timeoutMs: Math.min(timeoutMs, TOOL_TIMEOUT_MS), signal }
  const toolCalls = lastReply.reply.tool_calls ?? []
  for (const toolCall of toolCalls.slice(entries.length - last - 1)) {
    signal.throwIfAborted()
    const key = `${idempotencyKey(call)}:${entries.length}`
    const caller = { runId, stepId, contactId, conversationId, key }
    await callModelTool(scope, transcript, toolCall, { caller, tools, limits })
  }
}

function toMessage(entry: TranscriptEntry): JsonObject {
  if (entry.type === 'model_reply') return { ...entry.reply, content: entry.reply.content ?? null }
  const result = 'error' in entry ? { error: entry.error } : entry.output
  return { role: 'tool', tool_call_id: entry.callId, content: JSON.stringify(result) }
}

/** Lists the last messages of a conversation, oldest first, in the format of model providers. */
export async function listRecentMessages(
  scope: Scope,
  conversationId: string | null,
  count: number,
): Promise<JsonObject[]> {
  if (conversationId === null || count === 0) return []
  const rows = await scope
    .query(MessageRow)
    .select('direction', 'body')
    .where({ conversationId })
    .whereNotNull('body')
    // Notes are internal to the workspace.
    .whereNot('direction', 'internal')
    .whereNotIn('status', ['failed', 'canceled'])
    .orderBy([
      { column: 'createdAt', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(count)
  return rows.reverse().map(({ direction, body }) => ({
    role: direction === 'inbound' ? 'user' : 'assistant',
    content: body,
  }))
}

/**
 * Builds the output of an `ai` step: the model's final text, parsed if there is a schema, with its tool calls and usage.
 * @throws StepError `invalid_ai_output`
 * @throws BudgetExceededError if the schema is too expensive to check
 */
async function parseAiOutput(
  scope: Scope,
  { reply, usage }: { reply: ModelReply; usage: Usage },
  entries: readonly TranscriptEntry[],
  schema: JsonObject | null,
): Promise<AiOutput> {
  const text = (reply.content ?? '').trim()
  const earlier = entries.flatMap((entry) => (entry.type === 'model_reply' ? [entry.usage] : []))
  const usages = [...earlier, usage]
  return {
    text,
    json: schema ? await parseResult(scope, text, schema) : null,
    toolCalls: entries.flatMap((entry) => (entry.type === 'tool_call' ? [withoutIds(entry)] : [])),
    turns: earlier.length + 1,
    usage: {
      promptTokens: usages.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
      completionTokens: usages.reduce((sum, { completionTokens }) => sum + completionTokens, 0),
    },
  }
}

function withoutIds({
  type: _type,
  callId: _callId,
  ...call
}: Extract<TranscriptEntry, { type: 'tool_call' }>): JsonObject {
  return call
}

async function parseResult(scope: Scope, text: string, schema: JsonObject): Promise<unknown> {
  const value = parseUnfenced(text)
  const mismatch =
    value === undefined ? 'it is not JSON' : await scope.compute(findMismatchTask, { schema, value, name: 'output' })
  if (mismatch === undefined) return value
  throw new StepError('invalid_ai_output', `The output of the model does not match the schema: ${mismatch}`)
}

/** Some models wrap their JSON output in a code fence. */
function parseUnfenced(text: string): unknown {
  return parseJson(text.replace(/^```(?:json)?\s*([\s\S]*?)\s*```$/, '$1'))
}
