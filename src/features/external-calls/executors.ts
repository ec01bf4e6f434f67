import type { ExternalResult } from '../../engine/model/step.ts'
import type { Scope } from '../../scope.ts'
import type { ClaimedEffect } from './claim-calls.ts'
import { performAi } from './execute-ai.ts'
import { performHttp } from './execute-http.ts'
import { performTool } from './execute-tool.ts'

/**
 * Does outside what a step asked for, outside of any transaction. It may be called again with the same effect when a
 * process died. It ends when the signal says so. An error that it throws is a fault of ours: what goes wrong outside is
 * a result.
 */
export type Performer = (scope: Scope, effect: ClaimedEffect, signal: AbortSignal) => Promise<Performed>

/** The result; or how to come by it in the very transaction that settles the effect, for what is done to our tables. */
export type Performed = ExternalResult | { settle: (tx: Scope) => Promise<ExternalResult> }

/** By the `type` of the request. */
export const performers: ReadonlyMap<string, Performer> = new Map([
  ['http', performHttp],
  ['tool', performTool],
  ['ai', performAi],
])
