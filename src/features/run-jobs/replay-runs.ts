import { toMailbox } from '../../engine/model/mailbox-key.ts'
import { AppError, UnavailableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { lockMailboxes } from '../automation/store/mailbox-store.ts'
import type { JobItem, JobKind } from '../jobs/job-kind.ts'
import { type PreparedReplay, prepareReplay, storeReplay } from '../replay/replay-run.ts'
import { ReplayRun } from '../runs/schema.ts'
import { ReplayOptions } from './schema.ts'
import { applyToRun, failedItem, readTargets, type Target } from './targets.ts'

/** A run with its replay, or the reason why there is none. */
type Line = Target & { replay: PreparedReplay | AppError }

/**
 * Replays runs as `replayRun` does, each once and only if nothing else repeats it, so that no customer gets a message
 * twice: a run that has a live replay, or whose parent is a line of the job, stays as it is.
 */
export const runsReplay: JobKind<Line> = {
  type: 'runs_replay',
  role: 'admin',
  scope: 'runs:write',

  async *read(scope, job) {
    const options = ReplayOptions.parse(job.input)
    for await (const { lines: targets, cursor } of readTargets(scope, job)) {
      const lines: Line[] = []
      // One after the other: a state may have to be rebuilt on a compute thread.
      for (const target of targets) {
        const replay = await prepare(scope, ReplayRun.parse({ runId: target.runId, ...options }))
        lines.push({ ...target, replay })
      }
      yield { lines, cursor }
    }
  },

  async apply(tx, { id: jobId }, lines) {
    const replays = lines.flatMap(({ replay }) => (replay instanceof AppError ? [] : [replay]))
    await lockMailboxes(
      tx,
      replays.map(({ original }) => toMailbox(original)),
    )
    const repeated = await findRepeated(tx, jobId, lines)
    const items: JobItem[] = []
    for (const line of lines) items.push(await applyLine(tx, line, repeated.has(line.runId)))
    return items
  },
}

async function applyLine(tx: Scope, line: Line, isRepeated: boolean): Promise<JobItem> {
  const { line: number, runId, replay } = line
  if (isRepeated) return { line: number, status: 'unchanged', targetId: runId, error: null }
  if (replay instanceof AppError) return failedItem(line, replay)
  return applyToRun(tx, line, async (inner) => {
    await storeReplay(inner, replay)
    return { status: 'created', targetId: replay.plan.state.id }
  })
}

/** Finds the runs that something else repeats. Called while their mailboxes are locked, so that it stays so. */
async function findRepeated(tx: Scope, jobId: string, lines: Line[]): Promise<Set<string>> {
  const { tenantId } = tx
  const ids = lines.map(({ runId }) => runId)
  const rows = await tx.sql<{ id: string }>('findRepeatedRuns')`
    select r.replay_of as id from runs r
    where r.tenant_id = ${tenantId} and r.replay_of = any(${ids}) and r.mode = 'live'
    union
    select r.id from runs r join job_targets t
      on t.tenant_id = ${tenantId} and t.job_id = ${jobId} and t.target_id = r.parent_run_id
    where r.tenant_id = ${tenantId} and r.id = any(${ids})`
  return new Set(rows.map(({ id }) => id))
}

async function prepare(scope: Scope, options: ReplayRun): Promise<PreparedReplay | AppError> {
  try {
    return await prepareReplay(scope, options)
  } catch (error) {
    // While no compute thread is free the portion is tried again.
    if (error instanceof AppError && !(error instanceof UnavailableError)) return error
    throw error
  }
}
