import { toMailbox } from '../../engine/model/mailbox-key.ts'
import type { SimulatedRun } from '../../engine/simulate/simulate.ts'
import { runMailbox } from '../../engine/model/stored-run.ts'
import { advanceJob } from '../automation/jobs.ts'
import { lockMailboxes, putItems } from '../automation/store/mailbox-store.ts'
import { isFinished } from '../../engine/model/run.ts'
import { copySteps, saveRuns } from '../automation/store/run-store.ts'
import { Run as RunRow } from '../../models/automation.ts'
import { ConflictError, NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { isOfNoDeletedContactSql } from '../../scope/deleted-contacts.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Commit } from '../../trpc/idempotency.ts'
import { contactBlockedError } from '../contacts/errors.ts'
import { loadSubjects } from '../execution/load-subjects.ts'
import { saveDryRun, simulateReplay } from './dry-run.ts'
import { getRun } from '../runs/queries.ts'
import { buildReplay, planReplay, type ReplayPlan } from './plan-replay.ts'
import type { ReplayRun, Run } from '../runs/schema.ts'

/**
 * Replays a finished run as a new run; the original stays unchanged. By default it uses the same version, and starts a
 * completed run from the start and any other from the step at which it stopped, reusing the results of earlier steps.
 * @throws ConflictError `run_not_finished`
 * @throws UnprocessableError `run_is_dry_run`, `contact_blocked`
 */
export async function replayRun(scope: Scope, options: ReplayRun, commit: Commit): Promise<Run> {
  const prepared = await prepareReplay(scope, options)
  // A simulation waits for a compute thread, so it runs outside the transaction. A finished run changes no more.
  const simulated = options.mode === 'dry_run' ? await simulateReplay(scope, prepared) : undefined
  return commit(async (tx) => {
    await storeReplay(tx, prepared, simulated)
    return getRun(tx, { runId: prepared.plan.state.id })
  })
}

/** A replay that was checked and can be stored. */
export type PreparedReplay = { original: RunRow; plan: ReplayPlan; options: ReplayRun }

/**
 * Checks and plans the replay of a run, outside of a transaction: a state may have to be rebuilt on a compute thread.
 * @throws NotFoundError, ConflictError, UnprocessableError, UnavailableError
 */
export async function prepareReplay(scope: Scope, options: ReplayRun): Promise<PreparedReplay> {
  const original = await scope.get(RunRow, options.runId)
  assertReplayable(original)
  return { original, plan: await planReplay(scope, original, options), options }
}

/** Stores a replay, with its result if it was simulated. @throws NotFoundError, UnprocessableError `contact_blocked` */
export async function storeReplay(tx: Scope, prepared: PreparedReplay, simulated?: SimulatedRun): Promise<void> {
  const { original, plan, options } = prepared
  await lockRun(tx, original)
  if (simulated) await saveDryRun(tx, prepared, simulated)
  if (options.mode !== 'dry_run') await runLive(tx, prepared)
  const data = { runId: original.id, replayId: plan.state.id, conversationId: original.conversationId }
  await tx.record({ type: 'run.replayed', data })
}

/**
 * Locks the mailbox of the run, so that its contact, conversation and channel are not deleted before the replay is stored,
 * and the run, which the retention may delete alone.
 * @throws NotFoundError if one of them was deleted, and the run with it
 */
async function lockRun(tx: Scope, original: RunRow): Promise<void> {
  const mailbox = toMailbox(original)
  await lockMailboxes(tx, [mailbox])
  const isGone = mailbox.kind !== 'run' && (await loadSubjects(tx, [mailbox])).length === 0
  const locked = await tx.sql('lockOriginalRun')`
    select 1 from runs r where r.tenant_id = ${tx.tenantId} and r.id = ${original.id}
      and ${isOfNoDeletedContactSql(tx.tenantId, 'r')} for key share of r`
  if (isGone || locked.length === 0) throw new NotFoundError('Run')
}

function assertReplayable({ status, mode, replayOf }: RunRow): void {
  if (!isFinished({ status })) {
    throw new ConflictError('run_not_finished', 'The run is not finished. Wait for it or cancel it, then replay it')
  }
  if (mode === 'dry_run') {
    const message = 'Dry runs cannot be replayed. Replay the original run instead'
    throw new UnprocessableError('run_is_dry_run', message, { replayOf })
  }
}

async function runLive(tx: Scope, { original, plan, options: { stepOutputs } }: PreparedReplay): Promise<void> {
  const state = { ...plan.state, ...(stepOutputs ? { stepOutputOverrides: stepOutputs } : {}) }
  const replay = buildReplay(tx, original, { plan, state, mode: 'live' })
  const mailbox = runMailbox(replay)
  const [subject] = await loadSubjects(tx, [mailbox])
  if (subject?.isBlocked) throw contactBlockedError('starts no runs')
  await saveRuns(tx, [replay])
  await copySteps(tx, { from: original.id, to: state.id, count: plan.reusedCount })
  await putItems(tx, [{ id: newId(), mailbox, kind: 'start', payload: { runId: state.id } }])
  tx.enqueue(advanceJob(tx.tenantId))
}
