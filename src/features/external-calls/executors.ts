import type { ExternalResult } from '../../engine/model/step.ts'
import type { Scope } from '../../scope.ts'
import type { ClaimedCall } from './claim-calls.ts'
import { executeAi } from './execute-ai.ts'
import { executeHttp } from './execute-http.ts'
import { executeTool } from './execute-tool.ts'

/**
 * Does outside what a step asked for, outside of any transaction. It may be called again with the same effect when a
 * process died. It ends when the signal says so. An error that it throws is a fault of ours: what goes wrong outside is
 * a result.
 */
export type Executor = (scope: Scope, effect: ClaimedCall, signal: AbortSignal) => Promise<ExecutionResult>

/** The result; or how to come by it in the very transaction that settles the effect, for what is done to our tables. */
export type ExecutionResult = ExternalResult | { settle: (tx: Scope) => Promise<ExternalResult> }

/** By the `type` of the request. */
export const executors: ReadonlyMap<string, Executor> = new Map([
  ['http', executeHttp],
  ['tool', executeTool],
  ['ai', executeAi],
])
