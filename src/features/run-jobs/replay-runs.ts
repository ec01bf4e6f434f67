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

/** Replays runs as `replayRun` does, each once. */
export const runsReplay: JobKind<Line> = {
  type: 'runs_replay',

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

  async apply(tx, _job, lines) {
    const replays = lines.flatMap(({ replay }) => (replay instanceof AppError ? [] : [replay]))
    await lockMailboxes(
      tx,
      replays.map(({ original }) => toMailbox(original)),
    )
    const items: JobItem[] = []
    for (const line of lines) {
      const { replay } = line
      const item =
        replay instanceof AppError
          ? failedItem(line, replay)
          : await applyToRun(tx, line, async (inner) => {
              await storeReplay(inner, replay)
              return { status: 'created', targetId: replay.plan.state.id }
            })
      items.push(item)
    }
    return items
  },
}

async function prepare(scope: Scope, options: ReplayRun): Promise<PreparedReplay | AppError> {
  try {
    return await prepareReplay(scope, options)
  } catch (error) {
    // The portion is tried again.
    if (error instanceof UnavailableError) throw new Error('no compute thread was free', { cause: error })
    if (error instanceof AppError) return error
    throw error
  }
}
