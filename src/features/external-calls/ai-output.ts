import type { JsonObject } from '../../engine/model/run.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { findMismatchTask } from '../../platform/json-schema.ts'
import { parseJson } from '../../platform/parse-json.ts'
import type { Scope } from '../../scope.ts'
import type { ModelReply, Usage } from '../ai-provider/ask-model.ts'
import type { Entry } from './ai-transcript.ts'

/**
 * What an `ai` step gives: the model's last words, read as the schema says if there is one, and what was done before.
 * @throws StepError `invalid_ai_output`
 * @throws BudgetExceededError if the schema is too expensive to check
 */
export async function parseAiOutput(
  scope: Scope,
  { reply, usage }: { reply: ModelReply; usage: Usage },
  entries: readonly Entry[],
  schema: JsonObject | null,
): Promise<JsonObject> {
  const text = (reply.content ?? '').trim()
  const asked = entries.flatMap((entry) => (entry.type === 'asked' ? [entry.usage] : []))
  const used = [...asked, usage]
  return {
    text,
    json: schema ? await readResult(scope, text, schema) : null,
    toolCalls: entries.flatMap((entry) => (entry.type === 'called' ? [withoutIds(entry)] : [])),
    turns: asked.length + 1,
    usage: {
      promptTokens: used.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
      completionTokens: used.reduce((sum, { completionTokens }) => sum + completionTokens, 0),
    },
  }
}

function withoutIds({ type: _type, callId: _callId, ...called }: Extract<Entry, { type: 'called' }>): JsonObject {
  return called
}

async function readResult(scope: Scope, text: string, schema: JsonObject): Promise<unknown> {
  const value = parse(text)
  const mismatch =
    value === undefined ? 'it is no JSON' : await scope.compute(findMismatchTask, { schema, value, name: 'output' })
  if (mismatch === undefined) return value
  throw new StepError('invalid_ai_output', `The model's result is not of the shape that was asked for: ${mismatch}`)
}

/** Some models fence what they were asked to give bare. */
function parse(text: string): unknown {
  return parseJson(text.replace(/^```(?:json)?\s*([\s\S]*?)\s*```$/, '$1'))
}
