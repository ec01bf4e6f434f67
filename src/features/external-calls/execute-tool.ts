import { z } from 'zod'
import type { ExternalResult } from '../../engine/model/step.ts'
import { MINUTE, SECOND } from '../../platform/time.ts'
import { prepareCall } from '../tools/prepare-call.ts'
import { toFailure } from '../tools/tool-failure.ts'
import { idempotencyKey } from './claim-calls.ts'
import type { Executor } from './executors.ts'

const TIMEOUT_MS = 30 * SECOND
const TIMEOUT_MS_MAX = MINUTE

const Request = z.object({ tool: z.string(), input: z.record(z.string(), z.unknown()) })

/** Calls the tool of a `tool` step. What it changes of ours, it changes together with the settling: once or not at all. */
export const executeTool: Executor = async (scope, effect, signal) => {
  const { runId, stepId, contactId, conversationId } = effect
  const caller = { runId, stepId, contactId, conversationId, key: idempotencyKey(effect) }
  const timeoutMs = Math.min(effect.timeoutMs ?? TIMEOUT_MS, TIMEOUT_MS_MAX)
  try {
    const call = await prepareCall(scope, Request.parse(effect.request), caller)
    if (call.kind === 'inside') return { settle: (tx) => resultOf(() => tx.transaction(call.act)) }
    return await resultOf(() => call.act({ timeoutMs, signal }))
  } catch (error) {
    return { ok: false, error: toFailure(error) }
  }
}

/** A refused change is undone to the last statement, and leaves the transaction around it as it was. */
async function resultOf(act: () => Promise<unknown>): Promise<ExternalResult> {
  try {
    return { ok: true, output: await act() }
  } catch (error) {
    return { ok: false, error: toFailure(error) }
  }
}
