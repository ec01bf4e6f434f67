import type { JsonObject } from '../../engine/model/run.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { findMismatch, findMismatchTask } from '../../platform/json-schema.ts'
import type { Scope } from '../../scope/scope.ts'
import { BUILTIN_ACTIONS } from './builtin-actions.ts'
import { callHttpTool, requestHttp } from './call-http-tool.ts'
import { findCallableTool } from './queries.ts'
import type { Tool } from './schema.ts'

/** The run and step that call a tool. */
export type ToolCaller = {
  runId: string
  stepId: string
  contactId: string | null
  conversationId: string | null
  /** Idempotency key, the same whenever the call is repeated. */
  key: string
}

/** Timeout of a remote call, and the signal that aborts it. */
export type CallLimits = { timeoutMs: number; signal: AbortSignal }

/** `local` changes our own tables in the caller's transaction; `remote` calls another system and must not be in one. */
export type PreparedCall =
  | { kind: 'local'; execute: (tx: Scope) => Promise<unknown> }
  | { kind: 'remote'; execute: (limits: CallLimits) => Promise<unknown> }

/**
 * Resolves and validates a tool call. A missing contact or conversation in the input defaults to the caller's.
 * @throws StepError `unknown_tool`, `tool_disabled`, `invalid_tool_input`, `no_contact`, `no_conversation`
 */
export async function prepareCall(
  scope: Scope,
  { tool: name, input: callInput }: { tool: string; input: JsonObject },
  caller: ToolCaller,
): Promise<PreparedCall> {
  const { tool, row } = await findCallableTool(scope, name)
  const input = row ? callInput : withContext(tool, callInput, caller)
  const check = { schema: tool.inputSchema, value: input, name: 'input' }
  // The schemas of built-in tools take linear time, so they are checked here.
  const mismatch = row ? await scope.compute(findMismatchTask, check) : findMismatch(tool.inputSchema, input, 'input')
  if (mismatch) throw new StepError('invalid_tool_input', `The tool "${name}": ${mismatch}`, { retryable: false })
  if (row)
    return { kind: 'remote', execute: (limits) => callHttpTool(scope, row, { input, key: caller.key, ...limits }) }
  if (name === 'http.request') {
    return { kind: 'remote', execute: (limits) => requestHttp(scope, { input, key: caller.key, ...limits }) }
  }
  const action = BUILTIN_ACTIONS[name]
  if (action) return { kind: 'local', execute: (tx) => action(tx, input, caller) }
  throw new StepError('tool_not_supported', `The tool "${name}" is not implemented`, { retryable: false })
}

function withContext({ inputSchema }: Tool, callInput: JsonObject, caller: ToolCaller): JsonObject {
  const accepts = (name: string) => Object.hasOwn({ ...Object(inputSchema['properties']) }, name)
  const input = { ...callInput }
  for (const [name, code] of [
    ['contactId', 'no_contact'],
    ['conversationId', 'no_conversation'],
  ] as const) {
    if (!accepts(name) || (input[name] ?? null) !== null) continue
    if (caller[name] === null) {
      throw new StepError(code, `The run has no ${name} to use. Pass one in the input of the tool`, {
        retryable: false,
      })
    }
    input[name] = caller[name]
  }
  return input
}
