import { runMailbox } from '../../engine/model/stored-run.ts'
import { advanceJob } from '../automation/jobs.ts'
import { lockMailboxes, putItems } from '../automation/store/mailbox-store.ts'
import { isFinished } from '../../engine/model/run.ts'
import { copySteps, saveRuns } from '../automation/store/run-store.ts'
import { Run as RunRow } from '../../models/automation/run.ts'
import { ConflictError, UnprocessableError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { dryRun } from './dry-run.ts'
import { getRun } from '../runs/get-run.ts'
import { planReplay, type ReplayPlan } from './plan-replay.ts'
import { buildReplay } from './build-replay.ts'
import type { ReplayRun, Run } from '../runs/schema.ts'

/**
 * Runs again as a new run; the old one stays as it is. By default on the same version, a completed run from the start,
 * and one that failed, expired or was canceled from the step at which it stopped, with what the steps before it gave.
 * @throws ConflictError `run_not_finished`
 * @throws UnprocessableError `run_is_dry_run`
 */
export function replayRun(scope: Scope, { runId, ...options }: ReplayRun): Promise<Run> {
  return scope.transaction(async (tx) => {
    const old = await tx.get(RunRow, runId)
    if (!isFinished(old)) throw new ConflictError('run_not_finished', 'Only a finished run can be replayed')
    if (old.mode === 'dry_run') {
      const message = 'A dry run has sent nothing and met nobody. Replay the run that it tried'
      throw new UnprocessableError('run_is_dry_run', message, { replayOf: old.replayOf })
    }
    const plan = await planReplay(tx, old, { runId, ...options })
    if (options.mode === 'dry_run') await dryRun(tx, { old, plan, options: { runId, ...options } })
    else await runLive(tx, { old, plan, stepOutputs: options.stepOutputs })
    const data = { runId: old.id, replayId: plan.state.id, conversationId: old.conversationId }
    await tx.record({ type: 'run.replayed', data })
    return getRun(tx, { runId: plan.state.id })
  })
}

type Live = { old: RunRow; plan: ReplayPlan; stepOutputs: ReplayRun['stepOutputs'] }

async function runLive(tx: Scope, { old, plan, stepOutputs }: Live): Promise<void> {
  const state = { ...plan.state, ...(stepOutputs ? { stepOutputOverrides: stepOutputs } : {}) }
  const replay = buildReplay(tx, old, { plan, state, mode: 'live' })
  const mailbox = runMailbox(replay)
  if (mailbox.kind !== 'run') await lockMailboxes(tx, [mailbox])
  await saveRuns(tx, [replay])
  await copySteps(tx, { from: old.id, to: state.id, count: plan.takenOver })
  await putItems(tx, [{ id: newId(), mailbox, kind: 'start', payload: { runId: state.id } }])
  await tx.enqueue(advanceJob(tx.tenantId))
}
