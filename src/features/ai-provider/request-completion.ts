import { z } from 'zod'
import type { JsonObject } from '../../engine/model/run.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { fetchPublic } from '../../platform/outbound/fetch-public.ts'
import { parseJson } from '../../platform/parse-json.ts'
import { REDACTED } from '../../platform/security/redact-texts.ts'
import type { LoadedAiProvider } from './queries.ts'

const BYTES_MAX = 2_097_152
const ERROR_LENGTH_MAX = 300
/** Limit of tool calls in one reply; more indicate a malfunctioning model. */
const CALLS_MAX = 32

const ToolCall = z.looseObject({
  id: z.string(),
  type: z.literal('function').default('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
})

const ModelReply = z.looseObject({
  role: z.literal('assistant').default('assistant'),
  content: z.string().nullish(),
  tool_calls: z.array(ToolCall).max(CALLS_MAX).nullish(),
})
/**
 * Reply of a model: text, or tool calls to execute first. It is sent back unchanged, with any additional fields of the
 * provider.
 */
export type ModelReply = z.output<typeof ModelReply>

const tokens = z.int().min(0).catch(0)

const Completion = z.object({
  choices: z.array(z.object({ message: ModelReply })).min(1),
  usage: z
    .object({ prompt_tokens: tokens, completion_tokens: tokens })
    .nullish()
    .catch(null)
    .transform((usage) => ({
      promptTokens: usage?.prompt_tokens ?? 0,
      completionTokens: usage?.completion_tokens ?? 0,
    })),
})
export type Usage = z.output<typeof Completion>['usage']

export type ModelRequest = {
  model: string | null
  messages: JsonObject[]
  tools: JsonObject[]
  output: JsonObject | null
}

type Limits = { timeoutMs: number; signal: AbortSignal; allowsLoopback: boolean }

/**
 * Sends one request to an API that is compatible with OpenAI's chat completions.
 * @throws StepError, OutboundError
 */
export async function requestCompletion(
  provider: LoadedAiProvider,
  { model, messages, tools, output }: ModelRequest,
  limits: Limits,
): Promise<{ reply: ModelReply; usage: Usage }> {
  const { status, body } = await fetchPublic(
    {
      method: 'POST',
      url: `${provider.baseUrl}/chat/completions`,
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        'user-agent': 'Parley',
        ...(provider.apiKey === null ? {} : { authorization: `Bearer ${provider.apiKey}` }),
      },
      body: JSON.stringify({
        model: model ?? provider.model,
        messages,
        ...(tools.length > 0 ? { tools } : {}),
        ...(output ? { response_format: toResponseFormat(output) } : {}),
      }),
      timeoutMs: limits.timeoutMs,
      bytesMax: BYTES_MAX,
      allowsLoopback: limits.allowsLoopback,
    },
    limits.signal,
  )
  if (status < 200 || status > 299) throw statusError(status, body, provider)
  const completion = Completion.safeParse(parseJson(body))
  const [choice] = completion.data?.choices ?? []
  if (completion.data && choice) return { reply: choice.message, usage: completion.data.usage }
  throw new StepError('invalid_ai_answer', 'The response of the AI provider is not a chat completion')
}

function toResponseFormat(schema: JsonObject): JsonObject {
  return { type: 'json_schema', json_schema: { name: 'result', schema } }
}

function statusError(status: number, body: string, { apiKey }: LoadedAiProvider): StepError {
  const error = z.object({ error: z.object({ message: z.string() }) }).safeParse(parseJson(body)).data?.error.message
  // A provider may repeat the rejected key.
  const redacted = apiKey === null ? error : error?.replaceAll(apiKey, REDACTED)
  const detail = redacted ? `: ${redacted.slice(0, ERROR_LENGTH_MAX)}` : ''
  const isTransient = status >= 500 || status === 429 || status === 408
  return isTransient
    ? new StepError('ai_unavailable', `The AI provider responded with status ${status}${detail}`)
    : new StepError('ai_refused', `The AI provider rejected the request with status ${status}${detail}`, {
        retryable: false,
      })
}
