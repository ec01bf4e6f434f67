import type { ExternalResult } from '../../engine/model/step.ts'
import { deadline } from '../../platform/concurrency/deadline.ts'
import { retry } from '../../platform/concurrency/retry.ts'
import { isTransient } from '../../platform/database/database.ts'
import { FairScheduler } from '../../platform/jobs/fair-scheduler.ts'
import type { Task } from '../../platform/jobs/job-queue.ts'
import { addMs, MINUTE, SECOND } from '../../platform/time.ts'
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
/** With the delays between them, enough for the time between an execution and the end of its lease. */
const COMPLETE_ATTEMPTS_MAX = 40

/**
 * Executes external calls: claims, executes and completes them. The claim is committed before the call is made and the
 * result after it, so the calls of a dead process are made again, with the same idempotency key. Concurrent workers are
 * safe: a call is claimed by one of them, and only the last claimer can complete it. After the signal of a job aborts,
 * the calls that are not claimed yet are left to another process.
 */
export function executeCalls(system: SystemScope): Task {
  let stopping: AbortSignal | undefined
  const work = new FairScheduler({
    max: IN_FLIGHT_MAX,
    maxPerKey: IN_FLIGHT_PER_TENANT_MAX,
    async take(tenantId, limit) {
      if (stopping?.aborted) return []
      const claimed = await claimCalls(system.forTenant(tenantId), limit)
      return claimed.map((call) => () => executeCall(system, tenantId, call))
    },
  })
  return ({ tenantId = '' }, control) => {
    stopping = control?.signal
    return work.schedule(tenantId)
  }
}

/**
 * The result exists only in this process, so while the database cannot be reached it is kept until the lease expires. If
 * it cannot be recorded, the call is executed again after that.
 */
async function executeCall(system: SystemScope, tenantId: string, call: ClaimedCall): Promise<void> {
  const { runId, stepId, attempt } = call
  const scope = system.forTenant(tenantId, { type: 'run', id: runId, name: null })
  try {
    const leasedUntil = addMs(scope.now(), LEASE_MS)
    const execution = await execute(scope, call)
    const isCompleted = await retry(() => completeCall(scope, call, execution), {
      isRetryable: isTransient,
      mayContinue: () => scope.now() < leasedUntil,
      attemptsMax: COMPLETE_ATTEMPTS_MAX,
      delayMs: SECOND / 4,
      delayMaxMs: 5 * SECOND,
    })
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
