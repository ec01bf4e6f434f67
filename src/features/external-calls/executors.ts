import { z } from 'zod'
import { takePassage } from './throttle-windows.ts'
import { type Executor, idempotencyKey } from './call-queue.ts'
import { executeAi } from './execute-ai.ts'
import { executeHttp } from './execute-http.ts'
import type { ExternalResult } from '../../engine/model/step.ts'
import { MINUTE, SECOND } from '../../platform/time.ts'
import { prepareCall } from '../tools/prepare-call.ts'
import { toFailure } from '../tools/tool-failure.ts'

const TOOL_TIMEOUT_MS = 30 * SECOND
const TOOL_TIMEOUT_MS_MAX = MINUTE

const ToolRequest = z.object({ tool: z.string(), input: z.record(z.string(), z.unknown()) })

/** Executes the tool of a `tool` step. Changes of our tables commit together with the result, exactly once. */
export const executeTool: Executor = async (scope, call, signal) => {
  const { runId, stepId, contactId, conversationId } = call
  const caller = { runId, stepId, contactId, conversationId, key: idempotencyKey(call) }
  const timeoutMs = Math.min(call.timeoutMs ?? TOOL_TIMEOUT_MS, TOOL_TIMEOUT_MS_MAX)
  try {
    const prepared = await prepareCall(scope, ToolRequest.parse(call.request), caller)
    if (prepared.kind === 'local') return { complete: (tx) => toResult(() => tx.transaction(prepared.execute)) }
    return await toResult(() => prepared.execute({ timeoutMs, signal }))
  } catch (error) {
    return { ok: false, error: toFailure(error) }
  }
}

/** Converts an outcome to a result. A failed nested transaction is rolled back without affecting the outer one. */
async function toResult(execute: () => Promise<unknown>): Promise<ExternalResult> {
  try {
    return { ok: true, output: await execute() }
  } catch (error) {
    return { ok: false, error: toFailure(error) }
  }
}

/** Executors by the `type` of the request. */
export const executors: ReadonlyMap<string, Executor> = new Map([
  ['http', executeHttp],
  ['tool', executeTool],
  ['ai', executeAi],
  // The run is counted in the transaction that completes the call: exactly once.
  [
    'throttle',
    async (_scope, call) => ({ complete: async (tx) => ({ ok: true, output: await takePassage(tx, call) }) }),
  ],
])
