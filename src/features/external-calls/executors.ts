import type { ExternalResult } from '../../engine/model/step.ts'
import type { Scope } from '../../scope.ts'
import { takePassage } from '../throttle-windows/take-passage.ts'
import type { ClaimedCall } from './claim-calls.ts'
import { executeAi } from './execute-ai.ts'
import { executeHttp } from './execute-http.ts'
import { executeTool } from './execute-tool.ts'

/**
 * Makes an external call, outside of any transaction. It is called again with the same call if a process dies, and stops
 * when the signal is aborted. A failed call is a result; a thrown error is an internal one.
 */
export type Executor = (scope: Scope, call: ClaimedCall, signal: AbortSignal) => Promise<ExecutionResult>

/** The result, or for changes of our tables a function that produces it in the transaction that completes the call. */
export type ExecutionResult = ExternalResult | { complete: (tx: Scope) => Promise<ExternalResult> }

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
