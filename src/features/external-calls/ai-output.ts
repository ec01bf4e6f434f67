import type { JsonObject } from '../../engine/model/run.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { findMismatchTask } from '../../platform/json-schema.ts'
import { parseJson } from '../../platform/parse-json.ts'
import type { Scope } from '../../scope/scope.ts'
import type { ModelReply, Usage } from '../ai-provider/request-completion.ts'
import type { TranscriptEntry } from './ai-transcript.ts'

/**
 * Builds the output of an `ai` step: the model's final text, parsed if there is a schema, with its tool calls and usage.
 * @throws StepError `invalid_ai_output`
 * @throws BudgetExceededError if the schema is too expensive to check
 */
export async function parseAiOutput(
  scope: Scope,
  { reply, usage }: { reply: ModelReply; usage: Usage },
  entries: readonly TranscriptEntry[],
  schema: JsonObject | null,
): Promise<JsonObject> {
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
