import type { JsonObject } from '../../engine/model/run.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { findMismatch, findMismatchTask } from '../../platform/json-schema.ts'
import type { Scope } from '../../scope.ts'
import { BUILTIN_ACTIONS } from './builtin-actions.ts'
import { callHttpTool, requestHttp } from './call-http-tool.ts'
import { findTool } from './find-tool.ts'
import type { Tool } from './schema.ts'

/** On whose behalf a tool is called. */
export type ToolCaller = {
  runId: string
  stepId: string
  contactId: string | null
  conversationId: string | null
  /** The same whenever the same call is made again. */
  key: string
}

/** How long a call to the outside may take, and what calls it off before. */
export type CallLimits = { timeoutMs: number; signal: AbortSignal }

/** `inside` acts on our own tables, in a transaction of the caller's; `outside` calls somebody, and must be in none. */
export type PreparedCall =
  | { kind: 'inside'; act: (tx: Scope) => Promise<unknown> }
  | { kind: 'outside'; act: (limits: CallLimits) => Promise<unknown> }

/**
 * A call that only has to be made. What it needs of the contact and the conversation, and is not told, is the caller's.
 * @throws StepError `unknown_tool`, `tool_disabled`, `invalid_tool_input`, `no_contact`, `no_conversation`
 */
export async function prepareCall(
  scope: Scope,
  { tool: name, input: given }: { tool: string; input: JsonObject },
  caller: ToolCaller,
): Promise<PreparedCall> {
  const { tool, row } = await findTool(scope, name)
  const input = row ? given : fillIn(tool, given, caller)
  const check = { schema: tool.inputSchema, value: input, name: 'input' }
  // The schemas of built-in tools are ours, and linear: they need no thread.
  const mismatch = row ? await scope.compute(findMismatchTask, check) : findMismatch(tool.inputSchema, input, 'input')
  if (mismatch) throw new StepError('invalid_tool_input', `The tool "${name}": ${mismatch}`, { retryable: false })
  if (row) return { kind: 'outside', act: (limits) => callHttpTool(scope, row, { input, key: caller.key, ...limits }) }
  if (name === 'http.request') {
    return { kind: 'outside', act: (limits) => requestHttp(scope, { input, key: caller.key, ...limits }) }
  }
  const action = BUILTIN_ACTIONS[name]
  if (action) return { kind: 'inside', act: (tx) => action(tx, input, caller) }
  throw new StepError('tool_not_supported', `Nothing does yet what the tool "${name}" is for`, { retryable: false })
}

function fillIn({ inputSchema }: Tool, given: JsonObject, caller: ToolCaller): JsonObject {
  const takes = (name: string) => Object.hasOwn(Object(inputSchema['properties']) as object, name)
  const input = { ...given }
  for (const [name, code] of [
    ['contactId', 'no_contact'],
    ['conversationId', 'no_conversation'],
  ] as const) {
    if (!takes(name) || (input[name] ?? null) !== null) continue
    if (caller[name] === null) {
      throw new StepError(code, `The run has none of its own, so the tool needs a ${name}`, { retryable: false })
    }
    input[name] = caller[name]
  }
  return input
}
