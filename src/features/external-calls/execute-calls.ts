import type { ExternalResult } from '../../engine/model/step.ts'
import { deadline } from '../../platform/concurrency/deadline.ts'
import { FairScheduler } from '../../platform/jobs/fair-scheduler.ts'
import { MINUTE } from '../../platform/time.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { claimCalls, type ClaimedCall, LEASE_MS } from './claim-calls.ts'
import { type ExecutionResult, executors } from './executors.ts'
import { settleCall } from './settle-call.ts'

/** How much one process does at once, and how much of that for one workspace. */
const UNDER_WAY_MAX = 64
const UNDER_WAY_PER_TENANT_MAX = 20

/** Whoever performs is done before its lease ends, and before anybody else begins. */
const PERFORMANCE_MS_MAX = LEASE_MS - MINUTE

/** A call that ends the process which executes it would otherwise end all processes, one after the other. */
const CLAIMS_MAX = 2

/**
 * Does what runs asked for: claims, calls, settles. The claim is committed before anything is called and the result
 * after, so what a dead process left behind is done again, under the same key. Running twice is safe: an effect is
 * claimed by one, and settled only by the last who claimed it.
 */
export function executeCalls(system: SystemScope): (payload: Record<string, string>) => Promise<void> {
  const work = new FairScheduler({
    max: UNDER_WAY_MAX,
    maxPerKey: UNDER_WAY_PER_TENANT_MAX,
    async take(tenantId, limit) {
      const claimed = await claimCalls(system.forTenant(tenantId), limit)
      return claimed.map((effect) => () => perform(system, tenantId, effect))
    },
  })
  return ({ tenantId = '' }) => work.ask(tenantId)
}

/** What fails here is left leased, and done again by whoever finds it due. */
async function perform(system: SystemScope, tenantId: string, effect: ClaimedCall): Promise<void> {
  const { runId, stepId, attempt } = effect
  const scope = system.forTenant(tenantId, { type: 'run', id: runId, name: null })
  try {
    const isSettled = await settleCall(scope, effect, await resultOf(scope, effect))
    if (!isSettled) scope.log.info({ tenantId, runId, stepId, attempt }, 'a result came too late to be used')
  } catch (error) {
    scope.log.error({ err: error, tenantId, runId, stepId, attempt }, 'the result of a call could not be recorded')
  }
}

async function resultOf(scope: Scope, effect: ClaimedCall): Promise<ExecutionResult> {
  const { request, claimCount, runId, stepId } = effect
  const type = String(request['type'])
  const performer = executors.get(type)
  if (!performer) return failed('unknown_request', `Nothing here knows how to do "${type}"`)
  if (claimCount > CLAIMS_MAX) {
    return failed('outcome_unknown', `The call was begun ${CLAIMS_MAX} times, and its outcome was lost each time`)
  }
  const limit = deadline(PERFORMANCE_MS_MAX)
  try {
    return await Promise.race([performer(scope, effect, limit.signal), ended(limit.signal)])
  } catch (error) {
    scope.log.error({ err: error, tenantId: scope.tenantId, runId, stepId }, 'a call could not be made')
    return { ok: false, error: { code: 'internal', message: 'The call could not be made, by a fault of ours' } }
  } finally {
    limit.release()
  }
}

function ended(signal: AbortSignal): Promise<ExternalResult> {
  const error = { code: 'timed_out', message: 'The result did not come within the time allowed' }
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ ok: false, error })))
}

function failed(code: string, message: string): ExternalResult {
  return { ok: false, error: { code, message, retryable: false } }
}
