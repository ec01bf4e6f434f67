import { z } from 'zod'
import type { JsonObject } from '../../engine/model/run.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { deadline } from '../../platform/concurrency/deadline.ts'
import { MINUTE, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { askModel } from '../ai-provider/ask-model.ts'
import { findAiProvider, type LoadedAiProvider } from '../ai-provider/load-ai-provider.ts'
import { toFailure } from '../tools/tool-failure.ts'
import { parseAiOutput } from './ai-output.ts'
import { AiTranscript, type Entry } from './ai-transcript.ts'
import { callModelTool } from './call-model-tool.ts'
import { type ClaimedCall, idempotencyKey } from './claim-calls.ts'
import { describeTools } from './model-tools.ts'
import type { Executor } from './executors.ts'
import { listRecentMessages } from './recent-messages.ts'

const TIMEOUT_MS = MINUTE
/** Short of what a performer has. */
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

/** Lets a model answer, and makes the calls of tools that it asks for on the way: each of them once. */
export const executeAi: Executor = async (scope, effect, signal) => {
  const timeoutMs = Math.min(effect.timeoutMs ?? TIMEOUT_MS, TIMEOUT_MS_MAX)
  const limit = deadline(timeoutMs, signal)
  try {
    const transcript = await AiTranscript.load(scope, effect)
    const output = await converse(scope, transcript, { effect, timeoutMs, signal: limit.signal })
    return { settle: (tx) => transcript.forget(tx).then(() => ({ ok: true, output })) }
  } catch (error) {
    if (!limit.signal.aborted) return { ok: false, error: toFailure(error) }
    return { ok: false, error: { code: 'timed_out', message: 'The model did not finish within the time allowed' } }
  } finally {
    limit.release()
  }
}

type Bounds = { effect: ClaimedCall; timeoutMs: number; signal: AbortSignal }

async function converse(scope: Scope, transcript: AiTranscript, bounds: Bounds): Promise<JsonObject> {
  const { effect, signal, timeoutMs } = bounds
  const request = Request.parse(effect.request)
  const provider = await getProvider(scope)
  const tools = await describeTools(scope, request.tools)
  const opening = await openingOf(scope, effect, request)
  for (;;) {
    await makeCalls(scope, transcript, request.tools, bounds)
    const turns = transcript.entries.filter(({ type }) => type === 'asked').length
    if (turns >= request.maxTurns) {
      const message = `The model asked for more tools after ${turns} turns, which is all that the step allows`
      throw new StepError('turn_limit', message, { retryable: false })
    }
    signal.throwIfAborted()
    const messages = [...opening, ...transcript.entries.map(messageOf)]
    const { model, output } = request
    const limits = { signal, timeoutMs, allowsLoopback: scope.allowsLoopback }
    const answer = await askModel(provider, { model, messages, tools, output }, limits)
    if (!answer.reply.tool_calls?.length) return await parseAiOutput(scope, answer, transcript.entries, output)
    await transcript.add(scope, async () => ({ type: 'asked', ...answer }))
  }
}

async function getProvider(scope: Scope): Promise<LoadedAiProvider> {
  const provider = await findAiProvider(scope)
  if (provider) return provider
  throw new StepError('no_ai_provider', 'The workspace has no AI provider. Say which one with PUT /api/ai-provider', {
    retryable: false,
  })
}

/** Some models want to be spoken to: without a conversation, the instructions are what is said. */
async function openingOf(
  scope: Scope,
  { conversationId }: ClaimedCall,
  { instructions, history }: Request,
): Promise<JsonObject[]> {
  const turns = await listRecentMessages(scope, conversationId, history)
  return [{ role: turns.length > 0 ? 'system' : 'user', content: instructions }, ...turns]
}

/** Those of the last turn that were not made yet, in order. */
async function makeCalls(
  scope: Scope,
  transcript: AiTranscript,
  tools: string[],
  { effect, signal, timeoutMs }: Bounds,
): Promise<void> {
  const { entries } = transcript
  const last = entries.findLastIndex(({ type }) => type === 'asked')
  const asked = entries[last]
  if (asked?.type !== 'asked') return
  const { runId, stepId, contactId, conversationId } = effect
  const limits = { timeoutMs: Math.min(timeoutMs, TOOL_TIMEOUT_MS), signal }
  const calls = asked.reply.tool_calls ?? []
  for (const call of calls.slice(entries.length - last - 1)) {
    signal.throwIfAborted()
    const key = `${idempotencyKey(effect)}:${entries.length}`
    const caller = { runId, stepId, contactId, conversationId, key }
    await callModelTool(scope, transcript, call, { caller, tools, limits })
  }
}

function messageOf(entry: Entry): JsonObject {
  if (entry.type === 'asked') return { ...entry.reply, content: entry.reply.content ?? null }
  const told = 'error' in entry ? { error: entry.error } : entry.output
  return { role: 'tool', tool_call_id: entry.callId, content: JSON.stringify(told) }
}
