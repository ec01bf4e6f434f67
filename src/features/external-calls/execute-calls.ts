import type { ExternalResult } from '../../engine/model/step.ts'
import { deadline } from '../../platform/concurrency/deadline.ts'
import { FairScheduler } from '../../platform/jobs/fair-scheduler.ts'
import { MINUTE } from '../../platform/time.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { claimCalls, type ClaimedCall, LEASE_MS } from './claim-calls.ts'
import { type ExecutionResult, executors } from './executors.ts'
import { completeCall } from './complete-call.ts'

/** Concurrency limits of one process, in total and per workspace. */
const IN_FLIGHT_MAX = 64
const IN_FLIGHT_PER_TENANT_MAX = 20

/** Time limit of an execution, shorter than its lease so that no two workers execute a call at once. */
const EXECUTION_MS_MAX = LEASE_MS - MINUTE

/** Prevents a call that crashes its process from crashing every other process in turn. */
const CLAIMS_MAX = 2

/**
 * Executes external calls: claims, executes and completes them. The claim is committed before the call is made and the
 * result after it, so the calls of a dead process are made again, with the same idempotency key. Concurrent workers are
 * safe: a call is claimed by one of them, and only the last claimer can complete it.
 */
export function executeCalls(system: SystemScope): (payload: Record<string, string>) => Promise<void> {
  const work = new FairScheduler({
    max: IN_FLIGHT_MAX,
    maxPerKey: IN_FLIGHT_PER_TENANT_MAX,
    async take(tenantId, limit) {
      const claimed = await claimCalls(system.forTenant(tenantId), limit)
      return claimed.map((call) => () => executeCall(system, tenantId, call))
    },
  })
  return ({ tenantId = '' }) => work.schedule(tenantId)
}

/** If recording the result fails, the call stays leased and is executed again when the lease expires. */
async function executeCall(system: SystemScope, tenantId: string, call: ClaimedCall): Promise<void> {
  const { runId, stepId, attempt } = call
  const scope = system.forTenant(tenantId, { type: 'run', id: runId, name: null })
  try {
    const isCompleted = await completeCall(scope, call, await execute(scope, call))
    if (!isCompleted)
      scope.log.info({ tenantId, runId, stepId, attempt }, 'discarded the late result of an external call')
  } catch (error) {
    scope.log.error({ err: error, tenantId, runId, stepId, attempt }, 'failed to record the result of an external call')
  }
}

async function execute(scope: Scope, call: ClaimedCall): Promise<ExecutionResult> {
  const { request, claimCount, runId, stepId } = call
  const type = String(request['type'])
  const executor = executors.get(type)
  if (!executor) return toFailedResult('unknown_request', `There is no executor for requests of type "${type}"`)
  if (claimCount > CLAIMS_MAX) {
    return toFailedResult('outcome_unknown', `The call was started ${CLAIMS_MAX} times without a recorded result`)
  }
  const limit = deadline(EXECUTION_MS_MAX)
  try {
    return await Promise.race([executor(scope, call, limit.signal), toTimeout(limit.signal)])
  } catch (error) {
    scope.log.error(
      { err: error, tenantId: scope.tenantId, runId, stepId },
      'an external call failed with an internal error',
    )
    return { ok: false, error: { code: 'internal', message: 'The call failed because of an internal error' } }
  } finally {
    limit.release()
  }
}

function toTimeout(signal: AbortSignal): Promise<ExternalResult> {
  const error = { code: 'timed_out', message: 'The call did not finish within its time limit' }
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ ok: false, error })))
}

function toFailedResult(code: string, message: string): ExternalResult {
  return { ok: false, error: { code, message, retryable: false } }
}
