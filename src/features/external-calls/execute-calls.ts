import type { ExternalResult } from '../../engine/model/step.ts'
import { deadline } from '../../platform/concurrency/deadline.ts'
import { retry } from '../../platform/concurrency/retry.ts'
import { isTransient } from '../../platform/database/database.ts'
import type { Job, JobControl, Work } from '../../platform/jobs/job-queue.ts'
import { addMs, MINUTE, SECOND } from '../../platform/time.ts'
import type { Span } from '../../platform/tracing/span.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { claimCalls, type ClaimedCall, LEASE_MS, type ExecutionResult } from './call-queue.ts'
import { executors } from './executors.ts'
import { advanceJob, executeJob } from '../automation/jobs.ts'
import { lockMailboxes, putItems } from '../automation/store/mailbox-store.ts'
import { newId } from '../../platform/ids.ts'
import { metrics, observeSince } from '../../platform/metrics.ts'
import { sanitizeResult } from './sanitize-result.ts'

const BATCH = 20

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
export async function executeCalls(
  system: SystemScope,
  { tenantId }: Pick<Job, 'tenantId'>,
  { signal, spread = executeAll }: JobControl = {},
): Promise<void> {
  const scope = system.forTenant(tenantId)
  const hasMore = await spread(async (limit) => {
    const claimed = signal?.aborted ? [] : await claimCalls(scope, limit)
    return claimed.map((call) => () => executeCall(system, tenantId, call))
  })
  if (hasMore || signal?.aborted) scope.enqueue(executeJob(tenantId))
}

/** Without the places of a process. */
async function executeAll(claim: (limit: number) => Promise<Work[]>): Promise<boolean> {
  const works = await claim(BATCH)
  await Promise.all(works.map((work) => work()))
  return works.length === BATCH
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
    const { execution, span } = await executeInSpan(scope, call)
    const isCompleted = await retry(() => completeCall(scope, call, execution, span), {
      isRetryable: isTransient,
      mayContinue: () => scope.now() < leasedUntil,
      attemptsMax: COMPLETE_ATTEMPTS_MAX,
      delayMs: SECOND / 4,
      delayMaxMs: 5 * SECOND,
    })
    if (!isCompleted) scope.log.info({ runId, stepId, attempt }, 'discarded the late result of an external call')
  } catch (error) {
    scope.log.error(
      { event: 'external_call_unrecorded', err: error, runId, stepId, attempt },
      'failed to record the result of an external call',
    )
  }
}

/** Returns the result with its span, which the run goes on in. */
async function executeInSpan(
  scope: Scope,
  call: ClaimedCall,
): Promise<{ execution: ExecutionResult; span: Span | undefined }> {
  const { tracing, tenantId } = scope
  const { runId, stepId, attempt, request, traceparent } = call
  const about = { 'parley.tenant_id': tenantId, 'parley.run_id': runId, 'parley.step_id': stepId }
  const attributes = { ...about, 'parley.call_type': String(request['type']), 'parley.attempt': attempt }
  const span = tracing?.resume(traceparent, 'external.call', attributes) ?? tracing?.child('external.call', attributes)
  const execution = await execute(scope, call)
  if ('ok' in execution && !execution.ok) span?.fail(execution.error.code)
  span?.end()
  return { execution, span }
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
  const startMs = performance.now()
  try {
    const result = await Promise.race([executor(scope, call, limit.signal), toTimeout(limit.signal)])
    const outcome = 'complete' in result || result.ok ? 'ok' : 'failed'
    observeSince(metrics.externalCall, { kind: type, outcome }, startMs)
    return result
  } catch (error) {
    observeSince(metrics.externalCall, { kind: type, outcome: 'failed' }, startMs)
    scope.log.error(
      { event: 'external_call_failed', err: error, runId, stepId },
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

/**
 * Passes the result to the run and deletes the call, in one transaction. Returns false if this worker no longer owns the
 * call: it was deleted, or claimed again after its lease expired.
 */
export function completeCall(
  scope: Scope,
  call: ClaimedCall,
  execution: ExecutionResult,
  span?: Span,
): Promise<boolean> {
  const { runId, mailbox, epoch, stepIndex, attempt, claimCount } = call
  const complete = async (tx: Scope) => {
    // An execution that changes our tables takes its locks in the order of advancing a run.
    if ('complete' in execution) await lockMailboxes(tx, [mailbox])
    const deleted = await tx.sql('deleteCall')`
      delete from external_calls where tenant_id = ${tx.tenantId} and run_id = ${runId} and step_index = ${stepIndex}
        and attempt = ${attempt} and claim_count = ${claimCount} returning 1`
    if (deleted.length === 0) return false
    const result = 'complete' in execution ? await execution.complete(tx) : execution
    const payload = { runId, epoch, result: sanitizeResult(result) }
    await putItems(tx, [{ id: newId(), mailbox, kind: 'result', payload }])
    tx.enqueue(advanceJob(tx.tenantId))
    return true
  }
  return scope.transaction(complete, span ? { findSpan: () => span } : {})
}
